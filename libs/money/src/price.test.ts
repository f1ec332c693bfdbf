import fc from 'fast-check';
import { picoUsd } from './pico-usd.js';
import { costOf, holdFor, limitPrompt, parseUsdPerMillionTokens } from './price.js';

const price = { inputPicoUsd: 150_000n, cachedInputPicoUsd: 15_000n, outputPicoUsd: 600_000n };

test('a list price per million tokens is an integer of pico-USD a token', () => {
  expect(parseUsdPerMillionTokens('0.15')).toBe(150_000n);
  expect(parseUsdPerMillionTokens('0.000001')).toBe(1n);
  expect(parseUsdPerMillionTokens('0')).toBe(0n);
  expect(() => parseUsdPerMillionTokens('0.0000001')).toThrow(RangeError);
});

test('cached tokens are a part of the prompt and cost the cached price', () => {
  expect(costOf({ promptTokens: 100, cachedTokens: 40, outputTokens: 10 }, price)).toBe(60n * 150_000n + 40n * 15_000n + 10n * 600_000n);
});

test('a usage with a token also costs the request and its images, and one without costs nothing', () => {
  const all = { ...price, requestPicoUsd: 1_000n, imagePicoUsd: 7n, images: 3 };
  expect(costOf({ promptTokens: 1, cachedTokens: 1, outputTokens: 0 }, all)).toBe(15_000n + 1_000n + 3n * 7n);
  expect(costOf({ promptTokens: 0, cachedTokens: 0, outputTokens: 1 }, { ...all, outputPicoUsd: 0n })).toBe(1_000n + 3n * 7n);
  expect(costOf({ promptTokens: 0, cachedTokens: 0, outputTokens: 0 }, all)).toBe(0n);
  expect(costOf({ promptTokens: 1, cachedTokens: 0, outputTokens: 0 }, { ...price, imagePicoUsd: 7n })).toBe(150_000n);
});

test.each([
  { promptTokens: 1, cachedTokens: 2, outputTokens: 0 },
  { promptTokens: -1, cachedTokens: 0, outputTokens: 0 },
  { promptTokens: 1.5, cachedTokens: 0, outputTokens: 0 },
  { promptTokens: 1, cachedTokens: 0, outputTokens: Number.NaN },
])('an impossible usage is refused: %j', (usage) => {
  expect(() => costOf(usage, price)).toThrow(RangeError);
});

/** Prices besides those of tokens, or some of them, or none. */
const units = fc.record(
  { requestPicoUsd: fc.bigInt({ min: 0n, max: 10n ** 5n }), imagePicoUsd: fc.bigInt({ min: 0n, max: 1_000n }), images: fc.nat({ max: 9 }) },
  { requiredKeys: [] },
);

test('a hold covers every usage within its caps', () => {
  const tokens = fc.integer({ min: 0, max: 2 ** 31 - 1 });
  const perToken = fc.bigInt({ min: 0n, max: 10n ** 12n });
  fc.assert(
    fc.property(
      tokens,
      tokens,
      fc.float({ min: 0, max: 1, noNaN: true }),
      perToken,
      perToken,
      perToken,
      units,
      (bytes, outputTokensMax, share, input, cached, output, besides) => {
        const any = { inputPicoUsd: input, cachedInputPicoUsd: cached, outputPicoUsd: output, ...besides };
        const promptTokens = Math.floor(bytes * share);
        const usage = { promptTokens, cachedTokens: Math.floor(promptTokens * share), outputTokens: Math.floor(outputTokensMax * share) };
        const hold = holdFor({ promptTokensMax: bytes, outputTokensMax }, any);
        expect(costOf(usage, any)).toBeLessThanOrEqual(hold);
      },
    ),
  );
});

test('a usage whose output is within its cap is limited to the hold, and as little as possible', () => {
  const count = fc.integer({ min: 0, max: 1_000 });
  const tokenPrice = fc.bigInt({ min: 0n, max: 1_000n });
  const prices = fc.record({ inputPicoUsd: tokenPrice, cachedInputPicoUsd: tokenPrice, outputPicoUsd: tokenPrice });
  fc.assert(
    fc.property(prices, units, count, count, count, count, (ofTokens, besides, held, promptTokens, cached, outputTokens) => {
      const any = { ...ofTokens, ...besides };
      const cachedTokens = Math.min(cached, promptTokens);
      const amount = picoUsd(holdFor({ promptTokensMax: held, outputTokensMax: outputTokens }, any));
      const usage = { promptTokens, cachedTokens, outputTokens };
      const limited = limitPrompt(usage, amount, any);
      const cost = costOf(limited, any);
      expect(cost).toBeLessThanOrEqual(amount);
      expect(limited.outputTokens).toBe(outputTokens);
      if (costOf(usage, any) <= amount) expect(limited).toBe(usage);
      else if (limited.promptTokens + outputTokens > 0)
        expect(amount - cost).toBeLessThan(any.inputPicoUsd > any.cachedInputPicoUsd ? any.inputPicoUsd : any.cachedInputPicoUsd);
    }),
  );
});
