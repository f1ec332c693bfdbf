import fc from 'fast-check';
import { parseSignedUsd, parseUsd, picoUsd, renderUsd } from './pico-usd.js';

test.each([
  ['0', '0.00'],
  ['12.5', '12.50'],
  ['0.000000000001', '0.000000000001'],
  ['1.10', '1.10'],
  ['999999999999999.999999999999', '999999999999999.999999999999'],
])('%s dollars are rendered as %s', (text, rendered) => {
  expect(renderUsd(parseUsd(text))).toBe(rendered);
});

test.each([
  ['1,234.50', 1_234_500_000_000_000n],
  ['$1,234.50', 1_234_500_000_000_000n],
  ['12,345,678.9', 12_345_678_900_000_000_000n],
])('%s has commas between its thousands', (text, amount) => {
  expect(parseUsd(text)).toBe(amount);
});

const FORM = 'Write an amount in dollars such as 25 or 2.50.';
const COMMA = 'A comma only separates thousands before a point, as in 1,234.50.';

test.each([
  ['2,50', 'Write cents with a point: 2.50'],
  ['0,5', 'Write cents with a point: 0.5'],
  ['$0,50', 'Write cents with a point: 0.50'],
  ['1.234,50', 'Write cents with a point: 1234.50'],
  ['1,234', 'Write 1234.00 or 1.234: a comma is not clear here.'],
  ['1,23,4', COMMA],
  ['1,23.4', COMMA],
  ['12,34.50', COMMA],
  ['1234,567.50', COMMA],
  ['0,123.50', COMMA],
  ['1,234,567', COMMA],
  ['1,234.567,8', COMMA],
  [',50', COMMA],
  ['1.0000000000001', 'An amount has at most 12 decimals.'],
  ['1000000000000000', 'An amount has at most 15 digits before the point.'],
  ['-1', 'The amount must not be negative.'],
  ...['', '-', '$', '1.', '.5', '1e3', '0x1', '1 000', ' 1', '１２', '1.٥', '--1', '−1', 'Infinity'].map((text) => [text, FORM]),
])('%j is no amount: %s [money-amount-field]', (text = '', fault = '') => {
  expect(() => parseUsd(text)).toThrow(new RangeError(fault));
});

test('a debit has its sign before the dollars', () => {
  expect(['-2.50', '-$1,234.50', '3', '-0'].map(parseSignedUsd)).toEqual([
    -2_500_000_000_000n,
    -1_234_500_000_000_000n,
    3_000_000_000_000n,
    0n,
  ]);
  expect(() => parseSignedUsd('-2,50')).toThrow(new RangeError('Write cents with a point: 2.50'));
  expect(() => parseSignedUsd('$-2')).toThrow(new RangeError(FORM));
});

test('rendered amounts parse back to the same amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 26n }), (amount) => {
      expect(parseUsd(renderUsd(picoUsd(amount)))).toBe(amount);
    }),
  );
});
