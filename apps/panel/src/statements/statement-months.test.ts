import { lastEndedMonth, nextMonth } from './statement-months.js';

test.each([
  ['2027-02-01T00:59:59.999Z', '2026-12'],
  ['2027-02-01T01:00:00.000Z', '2027-01'],
  ['2027-01-15T00:00:00.000Z', '2026-12'],
  ['2028-03-31T23:59:59.000Z', '2028-02'],
])('at %s the last month that can be sent is %s', (now, month) => {
  expect(lastEndedMonth(Date.parse(now))).toBe(month);
});

test.each([
  ['2026-12', '2027-01'],
  ['2027-01', '2027-02'],
  ['2028-09', '2028-10'],
])('after %s comes %s', (month, next) => {
  expect(nextMonth(month)).toBe(next);
});
