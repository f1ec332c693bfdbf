import { count, percent, plural, readCount, shortCount } from './numbers.js';

test('a whole number may have commas between its thousands, and no other', () => {
  expect(['5000000', '5,000,000', ' 7 ', ''].map(readCount)).toEqual([{ amount: 5_000_000n }, { amount: 5_000_000n }, { amount: 7n }, {}]);
  const fault = 'Write a whole number such as 5000000.';
  expect(['2,5', '1.5', '1e3', '-1', '５', '50,00', '1,2345'].map(readCount)).toEqual(Array.from({ length: 7 }, () => ({ fault })));
});

test('numbers are grouped, and long ones shortened', () => {
  expect([0, 1_234, 99_999].map(shortCount)).toEqual(['0', '1,234', '99,999']);
  expect([100_000, 1_240_000, 14_187_634, 3_400_000_000].map(shortCount)).toEqual(['100 k', '1.2 M', '14.2 M', '3.4 B']);
  expect(count(14_187_634)).toBe('14,187,634');
});

test('a noun follows its number', () => {
  expect([0, 1, 2].map((number) => plural(number, 'request'))).toEqual(['0 requests', '1 request', '2 requests']);
});

test('small shares keep a decimal', () => {
  expect([0, 0.004, 0.12, 1].map(percent)).toEqual(['0 %', '0.4 %', '12 %', '100 %']);
});
