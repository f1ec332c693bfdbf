import type { UsageRow } from '../../../../src/shapes/billing.js';
import type { TrafficRow } from '../../../../src/shapes/overview.js';
import { compareModels } from './model-figures.js';

const times = (mean: number) => ({ p50: mean, p95: 2 * mean, p99: 3 * mean, mean });
const TRAFFIC: TrafficRow[] = [
  {
    model: 'a',
    requests: 10,
    outcomes: [
      { status: 200, code: null, requests: 7 },
      { status: 502, code: 'upstream_error', requests: 2 },
      { status: 200, code: 'client_disconnected', requests: 1 },
    ],
    firstContentMs: times(100),
    durationMs: times(2_000),
  },
  {
    model: 'b',
    requests: 1,
    outcomes: [{ status: 429, code: 'rate_limit_exceeded', requests: 1 }],
    firstContentMs: null,
    durationMs: null,
  },
  { model: null, requests: 3, outcomes: [{ status: 401, code: 'invalid_api_key', requests: 3 }], firstContentMs: null, durationMs: null },
];
const COMPLETED: UsageRow[] = [
  {
    ...{ model: 'a', requests: 8, estimatedRequests: 0, promptTokens: 1, cachedTokens: 0, outputTokens: 800, reasoningTokens: 0 },
    ...{ costPicoUsd: '80', forfeitedPicoUsd: '0' },
  },
];

test('each model has its share of errors, times, tokens a second and cost of a request', () => {
  expect(compareModels(TRAFFIC, COMPLETED)).toEqual([
    {
      ...{ model: 'a', requests: 10, errors: 0.2, firstContentMs: times(100), durationMs: times(2_000) },
      ...{ tokensPerSecond: 50, requestPicoUsd: 10n },
    },
    { model: 'b', requests: 1, errors: 1, firstContentMs: null, durationMs: null, tokensPerSecond: null, requestPicoUsd: null },
  ]);
});
