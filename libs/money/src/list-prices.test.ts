import { parseListPrices, renderListPrices } from './list-prices.js';

const TOKENS = { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' };
const PARSED = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };

test('list prices are exact to the pico-dollar and render as they were written', () => {
  const list = { ...TOKENS, requestUsd: '0.01', imageUsd: '999999.000000000001' };
  const price = { ...PARSED, requestPicoUsd: 10_000_000_000n, imagePicoUsd: 999_999_000_000_000_001n };
  expect(parseListPrices(list)).toEqual(price);
  expect(renderListPrices(price)).toEqual(list);
});

test('prices of writing to a cache are exact too, and may be zero', () => {
  const list = { ...TOKENS, cacheWriteUsdPerMTok: '0.1875', cacheWrite1hUsdPerMTok: '0.00' };
  const price = { ...PARSED, cacheWritePicoUsd: 187_500n, cacheWrite1hPicoUsd: 0n };
  expect(parseListPrices(list)).toEqual(price);
  expect(renderListPrices(price)).toEqual(list);
});

test('a price of zero for a request or an image is none', () => {
  expect(parseListPrices({ ...TOKENS, requestUsd: '0', imageUsd: '0.00' })).toEqual(PARSED);
  expect(renderListPrices(PARSED)).toEqual(TOKENS);
});
