import { costInPicoUsd, differenceInPicoUsd, groupByCost, picoUsd, picoUsdPerToken, readPrice } from './money.mjs';

const PRICE = { input: 150_000n, cached: 15_000n, output: 600_000n };

test('prices are whole pico-dollars a token, read from the catalog of the benchmarks', () => {
  expect(readPrice('sim-fast')).toEqual(PRICE);
  expect(picoUsd('1000000.00')).toBe(10n ** 18n);
  expect(picoUsdPerToken('3')).toBe(3_000_000n);
  expect(() => picoUsdPerToken('0.0000005')).toThrow('no whole number');
});

test('a reply costs its uncached, cached and output tokens', () => {
  expect(costInPicoUsd('40/10/64', PRICE)).toBe(30n * 150_000n + 10n * 15_000n + 64n * 600_000n);
  expect(groupByCost({ '40/0/64': 3, '42/0/64': 1 }, PRICE)).toEqual(
    new Map([
      [40n * 150_000n + 64n * 600_000n, 3n],
      [42n * 150_000n + 64n * 600_000n, 1n],
    ]),
  );
});

test.each([
  ['the same', [[5n, 2n]], [[5n, 2n]], 0n],
  ['one charged twice', [[5n, 2n]], [[5n, 3n]], 5n],
  ['one not charged', [[5n, 2n]], [[5n, 1n]], 5n],
  [
    'one too dear and one too cheap',
    [[5n, 2n]],
    [
      [4n, 1n],
      [6n, 1n],
    ],
    20n,
  ],
] as [string, [bigint, bigint][], [bigint, bigint][], bigint][])('the difference: %s', (_, owed, charged, expected) => {
  expect(differenceInPicoUsd(new Map(owed), new Map(charged))).toBe(expected);
});
