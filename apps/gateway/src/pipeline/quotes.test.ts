import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import type { PinnedPrice } from '#contracts/billing/holds.js';
import { QUOTE_KEY_MS } from '#contracts/billing/quotes.js';
import type { InferenceRequest } from '#inference/request.js';
import { picoUsd } from '#money/pico-usd.js';
import { computeCost } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { TEST_MODEL } from '#testing/fake-services.js';
import { testCases } from '#testing/long-run.js';
import type { Model } from '../clients/catalog.js';
import { limitCost } from './max-cost.js';
import { Meter } from './meter.js';
import { quoteRequest } from './quote.js';
import { atQuotedPrice, digestBody, Quotes, withinPromise } from './quotes.js';

const secret = randomBytes(32);
const quotes = new Quotes({
  get: async (number) =>
    Math.abs(number - Math.floor(Date.now() / QUOTE_KEY_MS)) <= 1 ? Buffer.concat([secret, Buffer.from([number % 256])]) : undefined,
});

const REQUEST = { accountId: 'a', format: 'chat', model: 'test-model', bodyDigest: digestBody(Buffer.from('{}')) };

function makeRequest(text: string, maxOutputTokens: number | undefined, images = 0): InferenceRequest {
  const parts = [
    { type: 'text' as const, text },
    ...Array.from({ length: images }, () => ({ type: 'image' as const, mediaType: 'image/png' as const, base64: 'AAAA' })),
  ];
  return {
    model: 'test-model',
    turns: [{ role: 'user', parts }],
    tools: [],
    maxOutputTokens,
    output: { kind: 'text' },
    stream: true,
    hints: {},
  };
}

function makeModel(price: PinnedPrice, more: Partial<Model> = {}): Model {
  return { ...TEST_MODEL, input: ['text', 'image'], ...more, price: parsePrice(price), pinnedPrice: price };
}

afterEach(() => {
  jest.useRealTimers();
});

const model = makeModel(TEST_MODEL.price);

test('what is signed comes back, five minutes long', async () => {
  jest.useFakeTimers({ now: 600_000 * QUOTE_KEY_MS - 1_000, doNotFake: ['nextTick', 'setImmediate'] });
  const quote = quoteRequest(model, makeRequest('Hello', 9));
  const signed = await quotes.sign(REQUEST, quote, model);
  // The hour of its key is over before the quote is.
  jest.setSystemTime(signed.expiresAt - 1);
  expect(await quotes.check(signed.quote, REQUEST)).toEqual({ price: model.pinnedPrice, amount: quote.amount, outputTokensMax: 9 });
  jest.setSystemTime(signed.expiresAt);
  await expect(quotes.check(signed.quote, REQUEST)).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('was valid until'),
  });
  jest.setSystemTime(signed.expiresAt + 2 * QUOTE_KEY_MS);
  await expect(quotes.check(signed.quote, REQUEST)).rejects.toMatchObject({ message: expect.stringContaining('or too old') });
});

test.each([
  [{ accountId: 'b' }, 'another account'],
  [{ format: 'messages' }, 'another endpoint'],
  [{ model: 'other' }, 'is for the model "test-model"'],
  [{ bodyDigest: digestBody(Buffer.from('{} ')) }, 'another body'],
])('a quote is for one request alone: %j', async (change, why) => {
  const { quote } = await quotes.sign(REQUEST, quoteRequest(model, makeRequest('Hello', 9)), model);
  await expect(quotes.check(quote, { ...REQUEST, ...change })).rejects.toMatchObject({
    ...{ code: 'invalid_request', param: 'x-tollgate-quote', message: expect.stringContaining(why) },
  });
});

test('a price with too many rules is not quoted', async () => {
  const rate = (): string => String(randomBytes(8).readBigUInt64BE());
  const rates = () => ({ inputPicoUsd: rate(), cachedInputPicoUsd: rate(), cacheWritePicoUsd: rate(), outputPicoUsd: rate() });
  const steps = () => Array.from({ length: 16 }, (_, index) => ({ above: index, reprices: 'whole' as const, ...rates() }));
  const tiers = Array.from({ length: 16 }, (_, index) => ({ tier: `t${index}`, ...rates(), steps: steps() }));
  const large = makeModel({ ...TEST_MODEL.price, steps: steps(), tiers });
  const quote = quoteRequest(model, makeRequest('Hello', 9));
  await expect(quotes.sign(REQUEST, quote, large)).rejects.toMatchObject({ code: 'invalid_request', param: 'quote' });
});

const amount = fc.bigInt({ min: 0n, max: 3_000_000n }).map(String);
const prices: fc.Arbitrary<PinnedPrice> = fc.record(
  {
    ...{ version: fc.integer({ min: 1, max: 9 }), inputPicoUsd: amount, cachedInputPicoUsd: amount, outputPicoUsd: amount },
    ...{ cacheWritePicoUsd: amount, requestPicoUsd: amount, imagePicoUsd: amount },
    steps: fc
      .record({
        above: fc.nat(200),
        reprices: fc.constantFrom('whole' as const, 'excess' as const),
        inputPicoUsd: amount,
        cachedInputPicoUsd: amount,
      })
      .map((step) => [step]),
    tiers: fc
      .record({ tier: fc.constant('flex'), inputPicoUsd: amount, cachedInputPicoUsd: amount, outputPicoUsd: amount })
      .map((tier) => [tier]),
  },
  { requiredKeys: ['version', 'inputPicoUsd', 'cachedInputPicoUsd', 'outputPicoUsd'] },
) as fc.Arbitrary<PinnedPrice>;

testCases(
  'for every body, price and change of the catalog: what is settled ≤ what was quoted ≤ the maximum',
  { usual: 500, long: 30_000 },
  fc.record({
    ...{
      text: fc.string({ maxLength: 300, unit: 'binary' }),
      output: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
      images: fc.nat(2),
    },
    ...{ before: prices, after: prices, max: fc.option(fc.bigInt({ min: 0n, max: 2_000_000_000n }), { nil: undefined }) },
    later: fc.record({
      tokensPerImageMax: fc.integer({ min: 1, max: 2_000 }),
      defaultOutputTokens: fc.integer({ min: 1, max: 900 }),
      maxOutputTokens: fc.integer({ min: 1, max: 900 }),
    }),
    usage: fc.record({ promptTokens: fc.nat(5_000), cached: fc.nat(5_000), outputTokens: fc.nat(5_000), isFlex: fc.boolean() }),
  }),
  async ({ text, output, images, before, after, max, later, usage }) => {
    const request = makeRequest(text, output, images);
    const quotedModel = makeModel(before);
    const maxCost = max === undefined ? undefined : { amount: picoUsd(max), lowersOutput: true };
    let quoted: ReturnType<typeof quoteRequest>;
    try {
      quoted = limitCost(quoteRequest(quotedModel, request), maxCost);
    } catch {
      return; // refused: nothing is quoted
    }
    expect(max === undefined || quoted.amount <= max).toBe(true);
    const signed = await quotes.sign(REQUEST, quoted, quotedModel);
    const promised = await quotes.check(signed.quote, REQUEST);

    const changed = makeModel(after, later);
    const quote = withinPromise(quoteRequest(atQuotedPrice(changed, promised), request), promised);
    const meter = new Meter(quote, true);
    const { promptTokens, outputTokens, isFlex } = usage;
    const reported = {
      promptTokens,
      outputTokens,
      cachedTokens: Math.min(usage.cached, promptTokens),
      reasoningTokens: 0,
      ...(isFlex && { tier: 'flex' }),
    };
    meter.read([{ type: 'usage-report', usage: { ...reported, promptSource: 'reported', outputSource: 'reported' } }]);
    const billed = meter.billable('completed');
    const cost = billed ? computeCost(billed, quote.price) : 0n;
    expect(cost <= quote.amount && quote.amount <= quoted.amount).toBe(true);
    expect({ ...quote.pinnedPrice, images: undefined }).toEqual({ ...before, images: undefined });
  },
);
