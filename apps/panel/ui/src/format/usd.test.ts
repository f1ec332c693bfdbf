import fc from 'fast-check';
import { decimalsFor, decimalsForAll, exactDecimals, exactUsd, flooredUsd, readUsd, roundedUsd, usdPerMillion } from './numbers.js';

const USD = 1_000_000_000_000n;

test.each([
  [0n, '$0.00'],
  [1n, '$0.000000000001'],
  [333_000_000n, '$0.000333'],
  [12n * USD + USD / 2n, '$12.50'],
  [-1_204n * USD, '−$1,204.00'],
  [1_234_567n * USD + 1n, '$1,234,567.000000000001'],
])('%s pico-USD are exactly %s', (pico, text) => {
  expect(exactUsd(pico)).toBe(text);
});

test.each([
  [1_204_500_000_000_000n, 2, '$1,204.50'],
  [5_000_000_000n, 2, '$0.01'],
  [4_999_999_999n, 2, '<$0.01'],
  [-1n, 6, '−<$0.000001'],
  [-2_345_678_900_000n, 4, '−$2.3457'],
  [999_999_999_999n, 2, '$1.00'],
  [0n, 6, '$0.000000'],
])('%s pico-USD with %s decimals are %s', (pico, decimals, text) => {
  expect(roundedUsd(pico, decimals)).toBe(text);
});

test.each([
  [142_326_100_000_000n, 2, '$142.32'],
  [999_999_999_999n, 2, '$0.99'],
  [4_999_999_999n, 2, '<$0.01'],
  [-1n, 2, '−$0.01'],
  [-2_345_678_900_000n, 4, '−$2.3457'],
  [0n, 2, '$0.00'],
])('a balance of %s pico-USD with %s decimals is %s [money-exact-amounts]', (pico, decimals, text) => {
  expect(flooredUsd(pico, decimals)).toBe(text);
});

test('a balance never shows more than there is [money-exact-amounts]', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.integer({ min: 0, max: 12 }), (pico, decimals) => {
      const text = flooredUsd(pico, decimals);
      const shown = text.includes('<') ? 0n : parseAmount(text);
      expect(pico - shown).toBeGreaterThanOrEqual(0n);
      expect(pico - shown).toBeLessThan(10n ** BigInt(12 - decimals));
    }),
  );
});

test('exact amounts of a column have the fewest decimals that all of them need', () => {
  expect(exactDecimals([2_458_000_000n, '-19500000', 0n])).toBe(7);
  expect(exactDecimals([USD, 1n])).toBe(12);
  expect(exactDecimals([])).toBe(2);
});

test('an exact amount parses to itself, whatever its size', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 26n), max: 10n ** 26n }), (pico) => {
      expect(parseAmount(exactUsd(pico))).toBe(pico);
    }),
  );
});

test('a rounded amount is at most half a unit of its last decimal away', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: 0, max: 12 }), (pico, decimals) => {
      const text = roundedUsd(pico, decimals);
      const unit = 10n ** BigInt(12 - decimals);
      const rounded = text.startsWith('<') ? 0n : parseAmount(text);
      const distance = rounded > pico ? rounded - pico : pico - rounded;
      expect(distance * 2n).toBeLessThanOrEqual(unit);
    }),
  );
});

test.each([
  ['2,50', 'Write cents with a point: 2.50'],
  ['0,5', 'Write cents with a point: 0.5'],
  ['1,23,4', 'A comma only separates thousands before a point, as in 1,234.50.'],
  ['1,234', 'Write 1234.00 or 1.234: a comma is not clear here.'],
  ['1.0000000000001', 'An amount has at most 12 decimals.'],
  ['-1', 'The amount must not be negative.'],
  ...['１２', '1 000', '1e3', '-', 'abc'].map((text) => [text, 'Write an amount in dollars such as 25 or 2.50.']),
])('a field with %j says: %s [money-amount-field]', (text = '', fault = '') => {
  expect(readUsd(text)).toEqual({ fault });
});

test('a field reads amounts, debits only where they are possible, and nothing from an empty text', () => {
  expect(['1,234.50', ' $2.5 ', '  '].map((text) => readUsd(text))).toEqual([
    { amount: 1_234_500_000_000_000n },
    { amount: 2_500_000_000_000n },
    {},
  ]);
  expect(readUsd('-2.50', { signed: true })).toEqual({ amount: -2_500_000_000_000n });
});

test('a column has the decimals of its smallest amount', () => {
  expect([0n, USD, USD / 50n, USD / 5_000n, 12_345n].map(decimalsFor)).toEqual([2, 2, 4, 6, 9]);
  expect(decimalsForAll([USD, 0n, USD / 50n])).toBe(4);
  expect(decimalsForAll([])).toBe(2);
});

test('the price of a million tokens is exact', () => {
  expect([150_000n, 1n, 0n, 2_190_000n].map(usdPerMillion)).toEqual(['$0.15', '$0.000001', '$0.00', '$2.19']);
});

/** Without decimals a comma between thousands is not clear. */
function parseAmount(text: string): bigint {
  if (!text.includes('.')) return parseAmount(`${text}.0`);
  return readUsd(text.replace('−', '-'), { signed: true }).amount ?? -1n;
}
