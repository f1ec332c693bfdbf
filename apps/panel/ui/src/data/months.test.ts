import { isSealed, monthAfter, readMonth, toMonth } from './months.js';

const NOW = Date.parse('2026-11-30T23:59:59Z');

test('months follow one another over the end of a year', () => {
  expect([monthAfter('2026-12', 1), monthAfter('2027-01', -1), monthAfter('2026-11', 0)]).toEqual(['2027-01', '2026-12', '2026-11']);
  expect(toMonth(NOW)).toBe('2026-11');
});

test.each([
  ['?month=2026-03', '2026-03'],
  ['', '2026-11'],
  ['?month=2026-13', '2026-11'],
  ['?month=../x', '2026-11'],
])('the address %j shows %s', (search, month) => {
  expect(readMonth(search, NOW)).toBe(month);
});

test('a month is sealed three days after its end', () => {
  const at = '2026-10-05T12:00:00.000Z';
  expect([isSealed(at, Date.parse('2026-11-03T23:59:59Z')), isSealed(at, Date.parse('2026-11-04T00:00:01Z'))]).toEqual([false, true]);
});
