import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallFacts, dollars, owedFor, PRICES, perMillionTokens } from './terms.ts';

const TRUTH = { prompt: 10, cached: 4, output: 7, reasoning: 0 };
const PROMPT = 6n * PRICES.inputPicoUsd + 4n * PRICES.cachedInputPicoUsd;
const STREAM: CallFacts = { isStream: true, hasBegun: true, isRefused: false, isComplete: false, wasLeft: false, outputServed: 0 };

const CASES: [string, Partial<CallFacts>, 'client' | 'product', bigint][] = [
  ['a whole reply costs what the upstream means', { isComplete: true, outputServed: 7 }, 'client', PROMPT + 7n * PRICES.outputPicoUsd],
  ['a refusal costs nothing', { isRefused: true }, 'client', 0n],
  ['a reply that breaks before content costs nothing', {}, 'client', 0n],
  ['a stream that breaks after content costs what came', { outputServed: 3 }, 'client', PROMPT + 3n * PRICES.outputPicoUsd],
  ['a plain reply that breaks costs nothing', { isStream: false, outputServed: 0 }, 'client', 0n],
  ['a client that leaves before content pays the prompt', { wasLeft: true }, 'client', PROMPT],
  ['a client that leaves before the work has begun pays nothing', { wasLeft: true, hasBegun: false }, 'client', 0n],
  ['a gateway that dies before content charges nothing', { wasLeft: true }, 'product', 0n],
  [
    'a gateway that dies after content charges what came',
    { wasLeft: true, outputServed: 3 },
    'product',
    PROMPT + 3n * PRICES.outputPicoUsd,
  ],
];

for (const [title, facts, blame, owed] of CASES)
  void test(title, () => assert.equal(owedFor({ ...STREAM, ...facts }, TRUTH, PRICES, blame), owed));

void test('amounts are written without rounding', () => {
  assert.deepEqual(
    [dollars(0n), dollars(1n), dollars(-1_370_001n), dollars(12_340_000_000_000n), perMillionTokens(137_003n)],
    ['0.00', '0.000000000001', '-0.000001370001', '12.34', '0.137003'],
  );
});
