import { duration, formatTime, inBothZones, inUtc, relativeTime, utcDay, utcHour, utcMonth, utcShortDay, zoneName } from './time.js';

const AT = '2026-11-23T13:02:31.204Z';

test('moments in UTC do not depend on the zone of the reader', () => {
  expect([inUtc(AT), utcDay(AT), utcShortDay(AT), utcHour(AT), utcMonth(AT)]).toEqual([
    '2026-11-23 13:02:31.204 UTC',
    '23 Nov 2026',
    '23 Nov',
    '13:02',
    'November 2026',
  ]);
});

test.each([
  [340, '340 ms'],
  [2_400, '2.40 s'],
  [17_000, '17.0 s'],
  [200_000, '3 min 20 s'],
  [18_600_000, '5 h 10 min'],
  [345_600_000, '4 days'],
])('%s ms are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test.each([
  [0, 'just now'],
  [60_000, '1 minute ago'],
  [-3_600_000, 'in 1 hour'],
  [172_800_000, '2 days ago'],
])('a moment %s ms before now is %s', (ms, text) => {
  expect(relativeTime(AT, Date.parse(AT) + ms)).toBe(text);
});

test('a moment is written in the chosen zone, and hovering shows local time and UTC', () => {
  expect([formatTime(AT, 'both', 'utc'), formatTime(AT, 'time', 'utc'), formatTime(AT, 'day', 'utc'), zoneName('utc', AT)]).toEqual([
    '23 Nov, 13:02:31',
    '13:02:31',
    '23 Nov 2026',
    'UTC',
  ]);
  expect(inBothZones(AT)).toBe(
    `${formatTime(AT, 'day', 'local')}, ${formatTime(AT, 'time', 'local')} ${zoneName('local', AT)}, ${inUtc(AT)}`,
  );
});
