import fc from 'fast-check';
import { picoUsd } from '#money/pico-usd.js';
import { holdFor, type Price } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { TEST_MODEL } from '#testing/fake-services.js';
import { testCases } from '#testing/long-run.js';
import { limitCost } from './max-cost.js';
import type { Quote } from './quote.js';

const { price: PINNED } = TEST_MODEL;

function makeQuote(promptTokensMax: number, outputTokensMax: number, price: Price = parsePrice(PINNED)): Quote {
  const amount = holdFor({ promptTokensMax, outputTokensMax }, price);
  return { price, pinnedPrice: PINNED, amount, promptTokensMax, promptTokensEstimate: 1, outputTokensMax };
}

const most = (amount: bigint, lowersOutput = false) => ({ amount: picoUsd(amount), lowersOutput });
const QUOTE = makeQuote(10, 100); // 1.5 and 60 millionths of a dollar

test('a request that fits is as without a maximum', () => {
  expect([limitCost(QUOTE, undefined), limitCost(QUOTE, most(61_500_000n)), limitCost(QUOTE, most(61_500_000n, true))]).toEqual([
    QUOTE,
    QUOTE,
    QUOTE,
  ]);
});

test('one that may cost a pico-dollar more is refused with both amounts', () => {
  expect(() => limitCost(QUOTE, most(61_499_999n))).toThrow(
    expect.objectContaining({
      code: 'insufficient_balance',
      message:
        'The request may cost up to $0.0000615 (100 output tokens), more than the $0.000061499999 of `x-tollgate-max-cost`. Lower the output limit to 99 tokens or less.',
    }),
  );
});

test('lower-output lowers the output limit to what fits, and refuses what does not', () => {
  expect(limitCost(QUOTE, most(61_499_999n, true))).toEqual({ ...QUOTE, outputTokensMax: 99, amount: 60_900_000n });
  expect(limitCost(QUOTE, most(2_100_000n, true))).toEqual({ ...QUOTE, outputTokensMax: 1, amount: 2_100_000n });
  expect(() => limitCost(QUOTE, most(2_099_999n, true))).toThrow('Shorten the prompt.');
  expect(() => limitCost(QUOTE, most(0n, true))).toThrow('more than the $0.00 of');
});

test('embeddings have no output to lower', () => {
  expect(() => limitCost(makeQuote(10, 0), most(1n, true))).toThrow(
    'The request may cost up to $0.0000015, more than the $0.000000000001 of `x-tollgate-max-cost`. Shorten the prompt.',
  );
});

const amount = fc.bigInt({ min: 0n, max: 5_000_000n });
const prices = fc.record(
  {
    inputPicoUsd: amount,
    cachedInputPicoUsd: amount,
    cacheWritePicoUsd: amount,
    outputPicoUsd: amount,
    requestPicoUsd: amount,
    steps: fc
      .record({
        above: fc.nat(300),
        reprices: fc.constantFrom('whole' as const, 'excess' as const),
        inputPicoUsd: amount,
        cachedInputPicoUsd: amount,
      })
      .map((step) => [step]),
    tiers: fc
      .record({ tier: fc.constant('flex'), inputPicoUsd: amount, cachedInputPicoUsd: amount, outputPicoUsd: amount })
      .map((tier) => [tier]),
  },
  { requiredKeys: ['inputPicoUsd', 'cachedInputPicoUsd', 'outputPicoUsd'] },
);

testCases(
  'of every price the quote is at most the maximum, and its amount what it holds; one more token of output would not fit',
  { usual: 1_000, long: 50_000 },
  fc.record({
    price: prices,
    prompt: fc.nat(400),
    output: fc.nat(400),
    max: fc.bigInt({ min: 0n, max: 4_000_000_000n }),
    lowersOutput: fc.boolean(),
  }),
  ({ price, prompt, output, max, lowersOutput }) => {
    const quote = makeQuote(prompt, output, price as Price);
    let limited: Quote;
    try {
      limited = limitCost(quote, most(max, lowersOutput));
    } catch {
      expect(quote.amount > max).toBe(true);
      if (lowersOutput && output > 1) expect(makeQuote(prompt, 1, price as Price).amount > max).toBe(true);
      return;
    }
    expect(limited.amount <= max).toBe(true);
    expect(limited).toEqual({ ...makeQuote(prompt, limited.outputTokensMax, price as Price) });
    if (limited.outputTokensMax < output) expect(makeQuote(prompt, limited.outputTokensMax + 1, price as Price).amount > max).toBe(true);
  },
);
