import fc from 'fast-check';
import { picoUsd } from './pico-usd.js';
import { computeCost, holdFor, limitPrompt, parseUsdPerMillionTokens } from './price.js';

const price = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };

test('a list price per million tokens is an integer of pico-USD a token', () => {
  expect(parseUsdPerMillionTokens('0.15')).toBe(150_000n);
  expect(parseUsdPerMillionTokens('0.000001')).toBe(1n);
  expect(parseUsdPerMillionTokens('0')).toBe(0n);
  expect(() => parseUsdPerMillionTokens('0.0000001')).toThrow(RangeError);
});

test('cached tokens are a part of the prompt and cost the cached price', () => {
  expect(computeCost({ promptTokens: 100, cachedTokens: 40, outputTokens: 10 }, price)).toBe(
    60n * 150_000n + 40n * 15_000n + 10n * 600_000n,
  );
});

test.each([
  ['both prices', { cacheWritePicoUsd: 187_500n, cacheWrite1hPicoUsd: 300_000n }, 187_500n, 300_000n],
  ['prices of zero', { cacheWritePicoUsd: 0n, cacheWrite1hPicoUsd: 0n }, 0n, 0n],
  ['the price for 5 minutes, which an hour then has too', { cacheWritePicoUsd: 187_500n }, 187_500n, 187_500n],
  ['the price for an hour', { cacheWrite1hPicoUsd: 300_000n }, 150_000n, 300_000n],
  ['none: the input price', {}, 150_000n, 150_000n],
])('tokens written to a cache are a part of the prompt and cost their price: %s', (_, prices, written, written1h) => {
  const usage = { promptTokens: 100, cachedTokens: 40, cacheWriteTokens: 30, cacheWrite1hTokens: 20, outputTokens: 10 };
  const cost = 10n * 150_000n + 40n * 15_000n + 30n * written + 20n * written1h + 10n * 600_000n;
  expect(computeCost(usage, { ...price, ...prices })).toBe(cost);
});

test('a usage with a token also costs the request and its images, and one without costs nothing', () => {
  const all = { ...price, requestPicoUsd: 1_000n, imagePicoUsd: 7n, images: 3 };
  expect(computeCost({ promptTokens: 1, cachedTokens: 1, outputTokens: 0 }, all)).toBe(15_000n + 1_000n + 3n * 7n);
  expect(computeCost({ promptTokens: 0, cachedTokens: 0, outputTokens: 1 }, { ...all, outputPicoUsd: 0n })).toBe(1_000n + 3n * 7n);
  expect(computeCost({ promptTokens: 0, cachedTokens: 0, outputTokens: 0 }, all)).toBe(0n);
  expect(computeCost({ promptTokens: 1, cachedTokens: 0, outputTokens: 0 }, { ...price, imagePicoUsd: 7n })).toBe(150_000n);
});

test.each([
  { promptTokens: 1, cachedTokens: 2, outputTokens: 0 },
  { promptTokens: -1, cachedTokens: 0, outputTokens: 0 },
  { promptTokens: 1.5, cachedTokens: 0, outputTokens: 0 },
  { promptTokens: 1, cachedTokens: 0, outputTokens: Number.NaN },
  { promptTokens: 2, cachedTokens: 1, cacheWriteTokens: 1, cacheWrite1hTokens: 1, outputTokens: 0 },
  { promptTokens: 2, cachedTokens: 1, cacheWriteTokens: -1, outputTokens: 0 },
])('an impossible usage is refused: %j', (usage) => {
  expect(() => computeCost(usage, price)).toThrow(RangeError);
});

/** Prices that a model may have, or some of them, or none. */
const optionalPrices = fc.record(
  {
    requestPicoUsd: fc.bigInt({ min: 0n, max: 10n ** 5n }),
    imagePicoUsd: fc.bigInt({ min: 0n, max: 1_000n }),
    images: fc.nat({ max: 9 }),
    cacheWritePicoUsd: fc.bigInt({ min: 0n, max: 2_000n }),
    cacheWrite1hPicoUsd: fc.bigInt({ min: 0n, max: 3_000n }),
  },
  { requiredKeys: [] },
);

/** A prompt of at most so many tokens, each of them cached, written or neither. */
const promptWithin = (tokensMax: number) =>
  fc.tuple(fc.nat({ max: tokensMax }), fc.nat(), fc.nat(), fc.nat(), fc.boolean()).map(([promptTokens, one, two, three, writes]) => {
    const cachedTokens = one % (promptTokens + 1);
    const cacheWriteTokens = two % (promptTokens - cachedTokens + 1);
    const cacheWrite1hTokens = three % (promptTokens - cachedTokens - cacheWriteTokens + 1);
    return { promptTokens, cachedTokens, ...(writes && { cacheWriteTokens, cacheWrite1hTokens }) };
  });

test('a hold covers every usage within its caps', () => {
  const tokens = fc.integer({ min: 0, max: 2 ** 31 - 1 });
  const perToken = fc.bigInt({ min: 0n, max: 10n ** 12n });
  const prices = fc.record({ inputPicoUsd: perToken, cachedInputPicoUsd: perToken, outputPicoUsd: perToken });
  const writes = fc.record({ cacheWritePicoUsd: perToken, cacheWrite1hPicoUsd: perToken }, { requiredKeys: [] });
  const sizes = fc
    .tuple(tokens, tokens)
    .chain(([bytes, cap]) => fc.tuple(fc.constant(bytes), fc.constant(cap), promptWithin(bytes), fc.nat({ max: cap })));
  fc.assert(
    fc.property(
      prices,
      optionalPrices,
      writes,
      sizes,
      (ofTokens, besides, ofWrites, [promptTokensMax, outputTokensMax, prompt, outputTokens]) => {
        const any = { ...ofTokens, ...besides, ...ofWrites };
        const hold = holdFor({ promptTokensMax, outputTokensMax }, any);
        expect(computeCost({ ...prompt, outputTokens }, any)).toBeLessThanOrEqual(hold);
      },
    ),
  );
});

test('a usage whose output is within its cap is limited to the hold, and as little as possible', () => {
  const count = fc.integer({ min: 0, max: 1_000 });
  const tokenPrice = fc.bigInt({ min: 0n, max: 1_000n });
  const prices = fc.record({ inputPicoUsd: tokenPrice, cachedInputPicoUsd: tokenPrice, outputPicoUsd: tokenPrice });
  fc.assert(
    fc.property(prices, optionalPrices, count, promptWithin(1_000), count, (ofTokens, besides, held, prompt, outputTokens) => {
      const any = { ...ofTokens, ...besides };
      const amount = picoUsd(holdFor({ promptTokensMax: held, outputTokensMax: outputTokens }, any));
      const usage = { ...prompt, outputTokens };
      const limited = limitPrompt(usage, amount, any);
      const cost = computeCost(limited, any);
      expect(cost).toBeLessThanOrEqual(amount);
      expect(limited.outputTokens).toBe(outputTokens);
      const dearest = holdFor({ promptTokensMax: 1, outputTokensMax: 0 }, { ...any, requestPicoUsd: 0n, images: 0 });
      if (computeCost(usage, any) <= amount) expect(limited).toBe(usage);
      else if (limited.promptTokens + outputTokens > 0) expect(amount - cost).toBeLessThan(dearest);
    }),
  );
});
