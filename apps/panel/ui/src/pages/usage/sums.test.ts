import type { UsageRow } from '../../../../src/shapes/billing.js';
import { sumRows, sumTotal } from './sums.js';

const row = (model: string, requests: number, costPicoUsd: string): UsageRow => ({
  model,
  requests,
  estimatedRequests: 0,
  promptTokens: 10 * requests,
  cachedTokens: requests,
  cacheWriteTokens: 3 * requests,
  cacheWrite1hTokens: 2 * requests,
  outputTokens: 2 * requests,
  quantity: 7 * requests,
  reasoningTokens: 0,
  costPicoUsd,
  forfeitedPicoUsd: '0',
});

test('rows of one group are added over time, the most expensive first, to the last digit', () => {
  const sums = sumRows([row('a', 1, '9007199254740993'), row('b', 2, '9007199254740995'), row('a', 1, '1')], 'model');
  expect(sums).toEqual([
    {
      id: 'b',
      requests: 2,
      promptTokens: 20,
      cachedTokens: 2,
      writtenTokens: 10,
      outputTokens: 4,
      units: 14,
      cost: 9_007_199_254_740_995n,
    },
    {
      id: 'a',
      requests: 2,
      promptTokens: 20,
      cachedTokens: 2,
      writtenTokens: 10,
      outputTokens: 4,
      units: 14,
      cost: 9_007_199_254_740_994n,
    },
  ]);
  expect(sumTotal(sums)).toEqual({
    id: '',
    requests: 4,
    promptTokens: 40,
    cachedTokens: 4,
    writtenTokens: 20,
    outputTokens: 8,
    units: 28,
    cost: 18_014_398_509_481_989n,
  });
});

test('agents keep the agent that started them, and their total has none', () => {
  const of = (agent: string, parentAgent: string) => ({ ...row('m', 1, '1'), agent, parentAgent });
  const sums = sumRows([of('b', 'a'), of('b', 'a')], 'agent');
  expect([...sums, sumTotal(sums)].map(({ id, parentAgent, requests }) => ({ id, parentAgent, requests }))).toEqual([
    { id: 'b', parentAgent: 'a', requests: 2 },
    { id: '', parentAgent: undefined, requests: 2 },
  ]);
});
