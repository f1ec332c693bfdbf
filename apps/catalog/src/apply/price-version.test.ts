import { priceVersion } from './price-version.js';

const price = { inputPicoUsd: 3n, cachedInputPicoUsd: 2n, outputPicoUsd: 5n };
const current = { version: 7, ...price };

test('the first price is version 1', () => {
  expect(priceVersion(undefined, price)).toEqual({ version: 1, ...price });
});

test('an unchanged price keeps its version', () => {
  expect(priceVersion(current, { ...price })).toEqual(current);
});

test.each(['inputPicoUsd', 'cachedInputPicoUsd', 'outputPicoUsd'] as const)('a change of %s alone is a new version', (part) => {
  expect(priceVersion(current, { ...price, [part]: 9n })).toEqual({ version: 8, ...price, [part]: 9n });
});
