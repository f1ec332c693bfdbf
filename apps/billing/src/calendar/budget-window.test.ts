import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
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

test.each([
  ['week', 7, '2026-11-28T23:59:59.999Z', '2026-11-22T00:00:00.000Z', '2026-11-29T00:00:00.000Z'],
  ['week', 7, '2026-11-29T00:00:00.000Z', '2026-11-29T00:00:00.000Z', '2026-12-06T00:00:00.000Z'],
  ['week', 2, '2026-11-23T12:00:00.000Z', '2026-11-17T00:00:00.000Z', '2026-11-24T00:00:00.000Z'],
  ['month', 15, '2026-11-14T23:59:59.999Z', '2026-10-15T00:00:00.000Z', '2026-11-15T00:00:00.000Z'],
  ['month', 28, '2028-02-29T00:00:00.000Z', '2028-02-28T00:00:00.000Z', '2028-03-28T00:00:00.000Z'],
  ['month', 2, '2027-01-01T12:00:00.000Z', '2026-12-02T00:00:00.000Z', '2027-01-02T00:00:00.000Z'],
] as const)('%s from day %i at %s', (period, startDay, at, start, end) => {
  const { windowStart, windowEnd } = windowAt(period, 'UTC', Date.parse(at), startDay);
  expect([new Date(windowStart).toISOString(), new Date(windowEnd).toISOString()]).toEqual([start, end]);
});

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/Los_Angeles',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
];
const HOUR_MS = 3_600_000;

/** A start of a window, as people of its zone write it. */
function toLocal(timeZone: string, at: number): { weekday: string; day: number } {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'long', day: 'numeric' });
  const part = (type: string) => format.formatToParts(at).find((one) => one.type === type)?.value ?? '';
  return { weekday: part('weekday'), day: Number(part('day')) };
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const ANY_WINDOW = fc.record({
  period: fc.constantFrom('day', 'week', 'month'),
  timeZone: fc.constantFrom(...ZONES),
  at: fc.integer({ min: Date.parse('2020-01-01Z'), max: Date.parse('2035-01-01Z') }),
  startDay: fc.integer({ min: 1, max: 28 }),
});

testCases(
  'windows of any zone and start day follow one another without a gap, and begin on their day',
  { usual: 300, long: 20_000 },
  ANY_WINDOW,
  ({ period, timeZone, at, startDay: any }) => {
    const startDay = period === 'week' ? ((any - 1) % 7) + 1 : period === 'day' ? 1 : any;
    const window = windowAt(period, timeZone, at, startDay);
    const { windowStart, windowEnd } = window;
    expect(windowStart <= at && at < windowEnd).toBe(true);
    expect(windowAt(period, timeZone, windowStart, startDay)).toEqual(window);
    expect(windowAt(period, timeZone, windowEnd - 1, startDay)).toEqual(window);
    expect(windowAt(period, timeZone, windowEnd, startDay).windowStart).toBe(windowEnd);
    expect(windowAt(period, timeZone, windowStart - 1, startDay).windowEnd).toBe(windowStart);
    const first = toLocal(timeZone, windowStart);
    const before = toLocal(timeZone, windowStart - 1);
    expect(before.day).not.toBe(first.day);
    if (period === 'week') expect(first.weekday).toBe(WEEKDAYS[startDay - 1]);
    if (period === 'month') expect(first.day).toBe(startDay);
    const hours = (windowEnd - windowStart) / HOUR_MS;
    const [least, most] = { day: [23, 25], week: [167, 169], month: [28 * 24 - 1, 31 * 24 + 1] }[period] as [number, number];
    expect(hours >= least && hours <= most).toBe(true);
  },
);

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
