import { parseListPrices } from '#money/list-prices.js';
import { comparePrices } from './compare-prices.js';

const FLAT = { inputUsdPerMTok: '3', cachedInputUsdPerMTok: '0.3', outputUsdPerMTok: '15' };
const flat = parseListPrices(FLAT);

test('an equal price has no changes', () => {
  expect(
    comparePrices(
      flat,
      [
        { of: 'inputPicoUsd', picoUsd: 3_000_000n },
        { of: 'cachedInputPicoUsd', picoUsd: 300_000n },
        { of: 'outputPicoUsd', picoUsd: 15_000_000n },
        { of: 'requestPicoUsd', picoUsd: 0n },
      ],
      [],
    ),
  ).toEqual({
    price: { inputUsdPerMTok: '3.00', cachedInputUsdPerMTok: '0.30', outputUsdPerMTok: '15.00' },
    changes: [],
    kept: [],
    otherTiers: [],
  });
});

test('takes what the list names, and keeps the rest', () => {
  const present = parseListPrices({
    ...FLAT,
    cacheWriteUsdPerMTok: '3.75',
    imageUsd: '0.01',
    steps: [{ above: 100_000, ...FLAT }],
    tiers: [{ tier: 'flex', ...FLAT }],
  });
  const { changes, kept } = comparePrices(
    present,
    [
      { of: 'inputPicoUsd', picoUsd: 2_500_000n },
      { of: 'requestPicoUsd', picoUsd: 1_000_000n },
      { of: 'outputPicoUsd', tier: 'flex', picoUsd: 7_500_000n },
    ],
    [],
  );
  expect(changes).toEqual([
    { field: 'inputUsdPerMTok', now: '3.00', list: '2.50' },
    { field: 'tiers[flex].outputUsdPerMTok', now: '15.00', list: '7.50' },
    { field: 'requestUsd', now: null, list: '0.000001' },
  ]);
  expect(kept).toEqual([
    ...['cachedInputUsdPerMTok', 'cacheWriteUsdPerMTok', 'outputUsdPerMTok', 'steps'],
    ...['tiers[flex].inputUsdPerMTok', 'tiers[flex].cachedInputUsdPerMTok', 'imageUsd'],
  ]);
});

test('a step has the prices without it where the list names none, those of cache writes too', () => {
  const present = parseListPrices({ ...FLAT, cacheWriteUsdPerMTok: '3.75' });
  expect(comparePrices(present, [{ of: 'inputPicoUsd', above: 200_000, picoUsd: 6_000_000n }], []).price.steps).toEqual([
    {
      above: 200_000,
      reprices: 'whole',
      inputUsdPerMTok: '6.00',
      cachedInputUsdPerMTok: '0.30',
      cacheWriteUsdPerMTok: '3.75',
    },
  ]);
});

test('adds a tier only when asked, with the usual prices where the list names none', () => {
  const amounts = [
    { of: 'inputPicoUsd', picoUsd: 4_000_000n },
    { of: 'inputPicoUsd', above: 200_000, picoUsd: 6_000_000n },
    { of: 'inputPicoUsd', tier: 'priority', picoUsd: 8_000_000n },
    { of: 'inputPicoUsd', tier: 'flex', picoUsd: 2_000_000n },
    { of: 'inputPicoUsd', tier: 'default', picoUsd: 1n },
  ] as const;
  const { price, otherTiers } = comparePrices(flat, amounts, ['priority']);
  expect(price.tiers).toEqual([{ tier: 'priority', inputUsdPerMTok: '8.00', cachedInputUsdPerMTok: '0.30', outputUsdPerMTok: '15.00' }]);
  expect(otherTiers).toEqual(['flex']);
});
