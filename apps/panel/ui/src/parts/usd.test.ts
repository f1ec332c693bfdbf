import fc from 'fast-check';
import { decimalsFor, decimalsForAll, exactUsd, parseUsd, roundedUsd, usdPerMillion } from './usd.js';

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

test('an exact amount parses to itself, whatever its size', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 26n), max: 10n ** 26n }), (pico) => {
      expect(parseUsd(exactUsd(pico).replace('−', '-'))).toBe(pico);
    }),
  );
});

test('a rounded amount is at most half a unit of its last decimal away', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: 0, max: 12 }), (pico, decimals) => {
      const text = roundedUsd(pico, decimals);
      const unit = 10n ** BigInt(12 - decimals);
      const rounded = text.startsWith('<') ? 0n : (parseUsd(text) ?? -1n);
      const distance = rounded > pico ? rounded - pico : pico - rounded;
      expect(distance * 2n).toBeLessThanOrEqual(unit);
    }),
  );
});

test.each(['', 'abc', '1.', '.5', '1.0000000000001', '1e3', '1 000', '--1'])('%j is no amount', (text) => {
  expect(parseUsd(text)).toBeUndefined();
});

test('a column has the decimals of its smallest amount', () => {
  expect([0n, USD, USD / 50n, USD / 5_000n, 12_345n].map(decimalsFor)).toEqual([2, 2, 4, 6, 9]);
  expect(decimalsForAll([USD, 0n, USD / 50n])).toBe(4);
  expect(decimalsForAll([])).toBe(2);
});

test('the price of a million tokens is exact', () => {
  expect([150_000n, 1n, 0n, 2_190_000n].map(usdPerMillion)).toEqual(['$0.15', '$0.000001', '$0.00', '$2.19']);
});
