import { isTimeZone, windowAt } from './budget-window.js';

test.each([
  ['day', 'UTC', '2026-11-23T00:00:00.000Z', '2026-11-23T00:00:00.000Z', '2026-11-24T00:00:00.000Z'],
  ['day', 'UTC', '2026-11-23T23:59:59.999Z', '2026-11-23T00:00:00.000Z', '2026-11-24T00:00:00.000Z'],
  ['day', 'America/Los_Angeles', '2026-11-23T07:59:59.999Z', '2026-11-22T08:00:00.000Z', '2026-11-23T08:00:00.000Z'],
  // A quarter of an hour, and the other side of the date line.
  ['day', 'Asia/Kathmandu', '2026-11-23T18:15:00.000Z', '2026-11-23T18:15:00.000Z', '2026-11-24T18:15:00.000Z'],
  ['day', 'Pacific/Kiritimati', '2026-11-23T10:00:00.000Z', '2026-11-23T10:00:00.000Z', '2026-11-24T10:00:00.000Z'],
  // Days of 23 and 25 hours, and one that begins at 01:00 because the clocks skip midnight.
  ['day', 'Europe/Berlin', '2026-03-29T12:00:00.000Z', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ['day', 'Europe/Berlin', '2026-10-25T12:00:00.000Z', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
  ['day', 'Africa/Cairo', '2025-04-25T12:00:00.000Z', '2025-04-24T22:00:00.000Z', '2025-04-25T21:00:00.000Z'],
  ['week', 'UTC', '2026-11-22T23:59:59.999Z', '2026-11-16T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
  ['week', 'UTC', '2026-11-23T00:00:00.000Z', '2026-11-23T00:00:00.000Z', '2026-11-30T00:00:00.000Z'],
  ['month', 'UTC', '2028-02-29T12:00:00.000Z', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
  ['month', 'Europe/Berlin', '2026-12-31T23:00:00.000Z', '2026-12-31T23:00:00.000Z', '2027-01-31T23:00:00.000Z'],
] as const)('%s in %s at %s', (period, timeZone, at, start, end) => {
  const { windowStart, windowEnd } = windowAt(period, timeZone, Date.parse(at));
  expect([new Date(windowStart).toISOString(), new Date(windowEnd).toISOString()]).toEqual([start, end]);
});

test('a total has one window without ends', () => {
  expect(windowAt('total', 'UTC', 0)).toEqual({ windowStart: Number.NEGATIVE_INFINITY, windowEnd: Number.POSITIVE_INFINITY });
});

test('zones have the names of IANA', () => {
  expect(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Europe/Nowhere', '+01:00', ''].filter(isTimeZone)).toEqual([
    'UTC',
    'Europe/Berlin',
    'America/Argentina/Buenos_Aires',
  ]);
});
