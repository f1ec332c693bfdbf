import fc from 'fast-check';
import { parsePercent, parsePrice, planPricing, renderPriceText } from './price-plan.js';

const LIST = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };
const OWN = { inputPicoUsd: '7', cachedInputPicoUsd: '1', outputPicoUsd: '9' };

test('a discount applies to every list price, and the price of a single model wins over it', () => {
  const findPrice = planPricing({ discountPercent: '12.5', models: [{ id: 'own', price: OWN }] });
  expect(findPrice('other', LIST)).toEqual({ inputPicoUsd: 131_250n, cachedInputPicoUsd: 13_125n, outputPicoUsd: 525_000n });
  expect(findPrice('own', LIST)).toEqual(parsePrice(OWN));
  expect(renderPriceText(findPrice('own', LIST))).toEqual(OWN);
});

test('a discount applies to the prices of a request and an image too, and takes away one that becomes zero', () => {
  const findPrice = planPricing({ discountPercent: '50.01', models: [] });
  const price = findPrice('any', { ...LIST, requestPicoUsd: 10_000n, imagePicoUsd: 1n });
  expect(price).toEqual({ inputPicoUsd: 74_985n, cachedInputPicoUsd: 7_499n, outputPicoUsd: 299_940n, requestPicoUsd: 4_999n });
  expect(parsePrice({ ...renderPriceText(price), imagePicoUsd: '3', images: 2 })).toEqual({ ...price, imagePicoUsd: 3n, images: 2 });
});

test('a discount applies to the prices of writing to a cache too, and one that becomes zero stays', () => {
  const findPrice = planPricing({ discountPercent: '50.01', models: [] });
  const price = findPrice('any', { ...LIST, cacheWritePicoUsd: 10_000n, cacheWrite1hPicoUsd: 1n });
  expect(price).toEqual({ ...findPrice('any', LIST), cacheWritePicoUsd: 4_999n, cacheWrite1hPicoUsd: 0n });
  expect(parsePrice(renderPriceText(price))).toEqual(price);
});

test.each([
  ['0', 3n, 3n],
  ['100', 3n, 0n],
  ['50', 3n, 2n],
  ['50', 1n, 1n],
  ['50.01', 1n, 0n],
  ['33.33', 10_000n, 6_667n],
  ['99.99', 5_000n, 1n],
  ['99.99', 4_999n, 0n],
])('%s %% off %i is %i: half a pico-USD is rounded up', (discountPercent, list, expected) => {
  const price = { inputPicoUsd: list, cachedInputPicoUsd: list, outputPicoUsd: list };
  const paid = { inputPicoUsd: expected, cachedInputPicoUsd: expected, outputPicoUsd: expected };
  expect(planPricing({ discountPercent, models: [] })('any', price)).toEqual(paid);
});

test('a price in a plan is within half a pico-USD of the exact one, and a larger discount never costs more', () => {
  const hundredths = fc.integer({ min: 0, max: 10_000 });
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), hundredths, hundredths, (list, one, other) => {
      const priceAt = (discount: number): bigint =>
        planPricing({ discountPercent: (discount / 100).toFixed(2), models: [] })('any', { ...LIST, inputPicoUsd: list }).inputPicoUsd;
      const distance = 2n * (priceAt(one) * 10_000n - list * BigInt(10_000 - one));
      expect(distance > -10_000n && distance <= 10_000n).toBe(true);
      expect(priceAt(Math.max(one, other)) <= priceAt(Math.min(one, other))).toBe(true);
    }),
  );
});

test.each(['', '-1', '100.01', '101', '1000', '12.345', '1e1', '.5', '5.'])('%j is no percentage', (text) => {
  expect(() => parsePercent(text)).toThrow(RangeError);
});
