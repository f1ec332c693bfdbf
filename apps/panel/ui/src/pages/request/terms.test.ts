import fc from 'fast-check';
import type { BilledRequest } from '../../../../src/shapes/billing.js';
import { asText, listTerms, sumTerms } from './terms.js';

const PRICE = { version: 3, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
const USAGE = {
  promptTokens: 1_000,
  cachedTokens: 400,
  outputTokens: 50,
  reasoningTokens: 20,
  promptSource: 'reported',
  outputSource: 'counted',
} as const;

const REQUEST: BilledRequest = {
  requestId: 'request-1',
  traceId: '0af7651916cd43dd8448eb211c80319c',
  holdId: 'hold-1',
  accountId: 'account-1',
  projectId: 'project-1',
  keyId: 'key-1',
  model: 'sim-fast',
  attribution: {},
  upstream: 'local',
  heldPicoUsd: '2000000000',
  price: PRICE,
  reservedAt: '2026-11-23T13:02:31.000Z',
  settlement: {
    usage: USAGE,
    costPicoUsd: '126000000',
    paid: { planPicoUsd: '100000000', topupPicoUsd: '26000000', endedPlanPicoUsd: '0' },
    settledAt: '2026-11-23T13:02:33.000Z',
    reason: 'completed',
    settledBy: 'gateway',
    overPicoUsd: '0',
    writtenOffPicoUsd: '0',
    reaped: null,
  },
  creditNotes: [],
};

test('the terms are tokens times prices, cached tokens apart from the others', () => {
  const terms = listTerms({ usage: USAGE }, PRICE);
  expect(terms).toEqual([
    { name: 'Prompt', note: 'counted by the upstream', count: 600, pricePicoUsd: 150_000n, amountPicoUsd: 90_000_000n },
    { name: 'Cached prompt', note: 'read from the upstream’s cache', count: 400, pricePicoUsd: 15_000n, amountPicoUsd: 6_000_000n },
    {
      name: 'Output',
      note: 'counted by Tollgate in the text received, 20 of it reasoning',
      count: 50,
      pricePicoUsd: 600_000n,
      amountPicoUsd: 30_000_000n,
    },
  ]);
  expect(sumTerms(terms)).toBe(126_000_000n);
});

test('tokens written to a cache are terms of their own, at the input price where they have none', () => {
  const usage = { ...USAGE, cacheWriteTokens: 100, cacheWrite1hTokens: 50 };
  const written = { name: 'Prompt written to cache', note: 'by the upstream, kept for 5 minutes', count: 100 };
  const written1h = { name: 'Prompt written to cache', note: 'by the upstream, kept for an hour', count: 50 };
  const terms = listTerms({ usage }, { ...PRICE, cacheWritePicoUsd: '187500', cacheWrite1hPicoUsd: '300000' });
  expect([terms[0]?.count, ...terms.slice(2, 4)]).toEqual([
    450,
    { ...written, pricePicoUsd: 187_500n, amountPicoUsd: 18_750_000n },
    { ...written1h, pricePicoUsd: 300_000n, amountPicoUsd: 15_000_000n },
  ]);
  expect(sumTerms(listTerms({ usage }, PRICE))).toBe(sumTerms(listTerms({ usage: USAGE }, PRICE)));
});

test('a billed request also costs the prices of a request and its images, and one without tokens nothing', () => {
  const price = { ...PRICE, requestPicoUsd: '1000000000', imagePicoUsd: '5', images: 3 };
  expect(listTerms({ usage: USAGE }, price).slice(3)).toEqual([
    { name: 'Request', note: 'besides the tokens', count: 1, unit: 'request', pricePicoUsd: 1_000_000_000n, amountPicoUsd: 1_000_000_000n },
    { name: 'Images', note: 'besides the tokens', count: 3, unit: 'image', pricePicoUsd: 5n, amountPicoUsd: 15n },
  ]);
  const none = { ...USAGE, promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  expect(sumTerms(listTerms({ usage: none }, price))).toBe(0n);
});

test('an item of a service costs its units and no tokens', () => {
  const none = { ...USAGE, promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
  const price = { version: 1, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0', requestPicoUsd: '2000000000' };
  expect(listTerms({ usage: { ...none, quantity: 7 } }, price)).toEqual([
    {
      ...{ name: 'Units', note: 'counted by the service', count: 7, unit: 'unit' },
      ...{ pricePicoUsd: 2_000_000_000n, amountPicoUsd: 14_000_000_000n },
    },
  ]);
  expect(sumTerms(listTerms({ usage: { ...none, quantity: 0 } }, price))).toBe(0n);
});

test('the sum is exact where a float is not', () => {
  const tokens = fc.nat({ max: 2 ** 31 - 1 });
  const price = fc.bigInt({ min: 0n, max: 10n ** 18n });
  fc.assert(
    fc.property(tokens, tokens, price, price, price, (promptTokens, outputTokens, input, cached, output) => {
      const cachedTokens = Math.floor(promptTokens / 3);
      const terms = listTerms(
        { usage: { ...USAGE, promptTokens, cachedTokens, outputTokens } },
        { version: 1, inputPicoUsd: `${input}`, cachedInputPicoUsd: `${cached}`, outputPicoUsd: `${output}` },
      );
      expect(sumTerms(terms)).toBe(
        BigInt(promptTokens - cachedTokens) * input + BigInt(cachedTokens) * cached + BigInt(outputTokens) * output,
      );
    }),
  );
});

test('the text of a request has every number of its bill', () => {
  expect(asText(REQUEST)).toBe(
    [
      'request request-1',
      'trace 0af7651916cd43dd8448eb211c80319c',
      'model sim-fast at local',
      'started 2026-11-23T13:02:31.000Z',
      'held $0.002',
      'ended 2026-11-23T13:02:33.000Z: completed',
      'price version 3',
      'prompt: 600 × 150000 = 90000000 pico-USD',
      'cached prompt: 400 × 15000 = 6000000 pico-USD',
      'output: 50 × 600000 = 30000000 pico-USD',
      'cost $0.000126',
      'paid by plan: $0.0001',
      'paid by top-up: $0.000026',
    ].join('\n'),
  );
  expect(asText({ ...REQUEST, upstream: null, settlement: null })).toBe(
    [
      'request request-1',
      'trace 0af7651916cd43dd8448eb211c80319c',
      'model sim-fast',
      'started 2026-11-23T13:02:31.000Z',
      'held $0.002',
      'running',
    ].join('\n'),
  );
});
