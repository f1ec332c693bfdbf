import fc from 'fast-check';
import { costByToken, cutPrompt } from '#testing/cost-by-token.js';
import { testCases } from '#testing/long-run.js';
import { picoUsd } from './pico-usd.js';
import {
  type BillableUsage,
  computeCost,
  holdFor,
  limitPrompt,
  outputWithin,
  type Price,
  type PriceStep,
  priceUsage,
  type TokenPrices,
} from './price.js';

/** Steps, tiers and images of a price: what is held covers what is charged, for every list, prompt and report. */

const BASE: Price = { inputPicoUsd: 10n, cachedInputPicoUsd: 1n, outputPicoUsd: 100n };
const DOUBLE = { inputPicoUsd: 20n, cachedInputPicoUsd: 2n };

const plain = (promptTokens: number, more: Partial<BillableUsage> = {}): BillableUsage => ({
  ...{ promptTokens, cachedTokens: 0, outputTokens: 1 },
  ...more,
});

test.each([
  [199_999, 199_999n * 10n + 100n, undefined],
  [200_000, 200_000n * 10n + 100n, undefined],
  [200_001, 200_001n * 20n + 150n, 200_000],
])('a prompt of %i tokens: a step above 200,000 re-prices the whole request', (promptTokens, cost, step) => {
  const price: Price = { ...BASE, steps: [{ above: 200_000, reprices: 'whole', ...DOUBLE, outputPicoUsd: 150n }] };
  const { step: reached, cost: charged } = priceUsage(plain(promptTokens), price);
  expect([charged, reached]).toEqual([cost, step]);
});

test('a step without an output price leaves that of the output, and a later one replaces an earlier one', () => {
  const steps: PriceStep[] = [
    { above: 10, reprices: 'whole', ...DOUBLE, outputPicoUsd: 7n },
    { above: 20, reprices: 'whole', inputPicoUsd: 5n, cachedInputPicoUsd: 5n },
  ];
  expect(priceUsage(plain(21, { cachedTokens: 1 }), { ...BASE, steps })).toEqual({
    cost: 5n + 100n + 100n,
    step: 20,
    terms: [
      { of: 'cachedInputPicoUsd', count: 1, price: 5n, above: 20 },
      { of: 'inputPicoUsd', count: 20, price: 5n, above: 20 },
      { of: 'outputPicoUsd', count: 1, price: 100n },
    ],
  });
});

test('a step for the excess re-prices the last tokens of the prompt: what was read and written comes first', () => {
  const price: Price = { ...BASE, cacheWritePicoUsd: 12n, steps: [{ above: 10, reprices: 'excess', ...DOUBLE, cacheWritePicoUsd: 25n }] };
  const usage = plain(20, { cachedTokens: 4, cacheWriteTokens: 8, cacheWrite1hTokens: 1 });
  expect(priceUsage(usage, price)).toEqual({
    cost: 4n + 12n + 60n + 75n + 140n + 100n,
    step: 10,
    terms: [
      { of: 'cachedInputPicoUsd', count: 4, price: 1n },
      { of: 'cacheWrite1hPicoUsd', count: 1, price: 12n },
      { of: 'cacheWritePicoUsd', count: 5, price: 12n },
      { of: 'cacheWritePicoUsd', count: 3, price: 25n, above: 10 },
      { of: 'inputPicoUsd', count: 7, price: 20n, above: 10 },
      { of: 'outputPicoUsd', count: 1, price: 100n },
    ],
  });
});

test('a tier has prices and steps of its own, and one that the price does not name has the usual ones', () => {
  const flex = { tier: 'flex', inputPicoUsd: 5n, cachedInputPicoUsd: 1n, outputPicoUsd: 50n };
  const price: Price = { ...BASE, steps: [{ above: 1, reprices: 'whole', ...DOUBLE }], tiers: [flex] };
  expect(priceUsage(plain(2, { tier: 'flex' }), price)).toMatchObject({ cost: 60n, tier: 'flex' });
  const { cost, step, tier } = priceUsage(plain(2, { tier: 'scale' }), price);
  expect({ cost, step, tier }).toEqual({ cost: 140n, step: 1, tier: undefined });
});

test('an image costs the price of its class', () => {
  const price: Price = { ...BASE, imagePicoUsd: 3n, images: 2, imageSteps: [{ aboveBytes: 9, imagePicoUsd: 8n, images: 1 }] };
  expect(computeCost(plain(0), price)).toBe(100n + 2n * 3n + 8n);
  expect(holdFor({ promptTokensMax: 0, outputTokensMax: 1 }, price)).toBe(114n);
});

test('a hold takes the dearest step, also one below the largest prompt, and the dearest tier', () => {
  const steps: PriceStep[] = [{ above: 10, reprices: 'whole', inputPicoUsd: 1n, cachedInputPicoUsd: 1n, outputPicoUsd: 1n }];
  expect(holdFor({ promptTokensMax: 12, outputTokensMax: 1 }, { ...BASE, steps })).toBe(200n);
  expect(holdFor({ promptTokensMax: 300, outputTokensMax: 1 }, { ...BASE, steps })).toBe(301n);
  const fast = { tier: 'priority', inputPicoUsd: 20n, cachedInputPicoUsd: 2n, outputPicoUsd: 100n };
  expect(holdFor({ promptTokensMax: 12, outputTokensMax: 1 }, { ...BASE, steps, tiers: [fast] })).toBe(340n);
});

test('a report beyond its hold is limited to the first token of a cheaper step, where no more fits', () => {
  const price: Price = { ...BASE, steps: [{ above: 10, reprices: 'whole', inputPicoUsd: 9n, cachedInputPicoUsd: 9n }] };
  expect(limitPrompt(plain(15), picoUsd(100n + 11n * 9n), price)).toEqual(plain(11));
  expect(limitPrompt(plain(15), picoUsd(100n + 11n * 9n - 1n), price)).toEqual(plain(9));
});

test('an amount covers no output where a tier whose output is free costs more', () => {
  const price: Price = { ...BASE, tiers: [{ tier: 'priority', inputPicoUsd: 90n, cachedInputPicoUsd: 1n, outputPicoUsd: 0n }] };
  expect([outputWithin(899n, 10, price), outputWithin(900n, 10, price)]).toEqual([0n, 8n]);
});

const amount = fc.bigInt({ min: 0n, max: 40n });
const promptPrices = fc.record(
  { inputPicoUsd: amount, cachedInputPicoUsd: amount, cacheWritePicoUsd: amount, cacheWrite1hPicoUsd: amount },
  { requiredKeys: ['inputPicoUsd', 'cachedInputPicoUsd'] },
);
/** Bounds are close to one another, so that prompts of up to `SIZE` tokens reach all of them. */
const SIZE = 24;
const steps = fc
  .array(
    fc.tuple(
      fc.integer({ min: 1, max: SIZE }),
      promptPrices,
      fc.oneof(
        fc.constant({ reprices: 'excess' as const }),
        fc.record({ reprices: fc.constant('whole' as const), outputPicoUsd: amount }, { requiredKeys: ['reprices'] }),
      ),
    ),
    { maxLength: 4 },
  )
  .map((drawn) => {
    const byBound = new Map(drawn.map(([above, prices, rest]) => [above, { above, ...rest, ...prices }]));
    return [...byBound.values()].sort((one, other) => one.above - other.above);
  });
const tokenPrices = fc.tuple(promptPrices, fc.record({ outputPicoUsd: amount, steps }, { requiredKeys: ['outputPicoUsd'] }));
const tokens = tokenPrices.map(([prompt, rest]): TokenPrices => ({ ...prompt, ...rest }));
const TIERS = ['flex', 'priority', 'batch'];
const anyPrice = fc
  .tuple(
    tokens,
    fc.array(tokens, { maxLength: 2 }),
    fc.record({ requestPicoUsd: amount, imagePicoUsd: amount, images: fc.nat(3) }, { requiredKeys: [] }),
    fc.array(fc.record({ aboveBytes: fc.constant(9), imagePicoUsd: amount, images: fc.nat(3) }), { maxLength: 1 }),
  )
  .map(
    ([base, tiers, besides, imageSteps]): Price => ({
      ...{ ...base, ...besides, imageSteps },
      ...(tiers.length > 0 && { tiers: tiers.map((prices, index) => ({ tier: TIERS[index] as string, ...prices })) }),
    }),
  );

/** A report of any prompt within a size. `batch` is a tier that no price here knows. */
const reportWithin = (promptTokensMax: number, outputTokensMax: number) =>
  fc
    .record({
      promptTokens: fc.nat(promptTokensMax),
      outputTokens: fc.nat(outputTokensMax),
      parts: fc.tuple(fc.nat(), fc.nat(), fc.nat()),
      tier: fc.option(fc.constantFrom(...TIERS), { nil: undefined }),
    })
    .map((drawn) => report(drawn));

function report({ promptTokens, outputTokens, parts: [one, two, three], tier }: Drawn): BillableUsage {
  const cachedTokens = one % (promptTokens + 1);
  const cacheWriteTokens = two % (promptTokens - cachedTokens + 1);
  const cacheWrite1hTokens = three % (promptTokens - cachedTokens - cacheWriteTokens + 1);
  return { promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens, ...(tier !== undefined && { tier }) };
}

interface Drawn {
  promptTokens: number;
  outputTokens: number;
  parts: [number, number, number];
  tier: string | undefined;
}

/** Sizes of a prompt next to the bounds of a price: at each one, below it and above it, and the largest. */
function edges({ steps = [], tiers = [] }: Price, promptTokensMax: number): number[] {
  const bounds = [{ steps }, ...tiers].flatMap((list) => (list.steps ?? []).flatMap(({ above }) => [above - 1, above, above + 1]));
  return [...new Set([...bounds, promptTokensMax])].filter((size) => size <= promptTokensMax);
}

const RUNS = { usual: 300, long: 100_000 };
const sized = fc.nat(SIZE + 4).chain((promptTokensMax) =>
  fc.nat(3).chain((outputTokensMax) =>
    fc.record({
      promptTokensMax: fc.constant(promptTokensMax),
      outputTokensMax: fc.constant(outputTokensMax),
      usage: reportWithin(promptTokensMax, outputTokensMax),
    }),
  ),
);

testCases(
  'a hold covers every report of every price list, also at each bound, below it and above it [price-held]',
  RUNS,
  fc.tuple(anyPrice, sized),
  ([price, { promptTokensMax, outputTokensMax, usage }]) => {
    const hold = holdFor({ promptTokensMax, outputTokensMax }, price);
    for (const promptTokens of [usage.promptTokens, ...edges(price, promptTokensMax)]) {
      const { cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0, outputTokens, tier } = usage;
      const parts: Drawn['parts'] = [cachedTokens, cacheWriteTokens, cacheWrite1hTokens];
      expect(computeCost(report({ promptTokens, outputTokens, parts, tier }), price)).toBeLessThanOrEqual(hold);
    }
  },
);

testCases('a charge is what each token costs [price-exact]', RUNS, fc.tuple(anyPrice, sized), ([price, { usage }]) => {
  expect(computeCost(usage, price)).toBe(costByToken(usage, price));
});

testCases(
  'a hold without steps for the excess is the cost of a report',
  { usual: 100, long: 3_000 },
  fc.tuple(anyPrice, fc.integer({ min: 1, max: SIZE }), fc.nat(2)),
  ([any, promptTokensMax, outputTokensMax]) => {
    const whole = <List extends TokenPrices>(list: List): List => ({
      ...list,
      steps: list.steps?.filter(({ reprices }) => reprices === 'whole'),
    });
    const price = { ...whole(any), ...(any.tiers && { tiers: any.tiers.map(whole) }) };
    const costs = [undefined, ...TIERS].flatMap((tier) =>
      Array.from({ length: promptTokensMax }, (_, at) => at + 1).flatMap((promptTokens) =>
        [{}, { cachedTokens: promptTokens }, { cacheWriteTokens: promptTokens }, { cacheWrite1hTokens: promptTokens }].map((parts) =>
          computeCost({ ...plain(promptTokens), outputTokens: outputTokensMax, ...parts, ...(tier !== undefined && { tier }) }, price),
        ),
      ),
    );
    expect(holdFor({ promptTokensMax, outputTokensMax }, price)).toBe(costs.reduce((one, other) => (one > other ? one : other)));
  },
);

testCases(
  'a report beyond its hold is limited to the longest prompt that the hold covers',
  RUNS,
  fc.tuple(anyPrice, sized, fc.nat(SIZE)),
  ([price, { usage, outputTokensMax }, promptTokensMax]) => {
    const hold = holdFor({ promptTokensMax, outputTokensMax }, price);
    const limited = limitPrompt(usage, hold, price);
    expect(computeCost(limited, price)).toBeLessThanOrEqual(hold);
    expect([limited.outputTokens, limited.tier]).toEqual([usage.outputTokens, usage.tier]);
    for (let amount = limited.promptTokens + 1; amount <= usage.promptTokens; amount += 1) {
      expect(computeCost(cutPrompt(usage, amount), price)).toBeGreaterThan(hold);
    }
  },
);

testCases(
  'the output that an amount covers is the most whose hold it is',
  RUNS,
  fc.tuple(anyPrice, fc.nat(SIZE), fc.nat(5), fc.bigInt({ min: 0n, max: 60n })),
  ([price, promptTokensMax, outputTokens, more]) => {
    const amount = picoUsd(holdFor({ promptTokensMax, outputTokensMax: outputTokens }, price) + more);
    const most = Number(outputWithin(amount, promptTokensMax, price));
    const held = (outputTokensMax: number) => holdFor({ promptTokensMax, outputTokensMax }, price);
    if (outputTokens > 0 && held(1) < held(2)) {
      expect(held(most)).toBeLessThanOrEqual(amount);
      expect(held(most + 1)).toBeGreaterThan(amount);
    }
  },
);
