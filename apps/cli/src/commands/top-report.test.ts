import type { OpenHold } from '#contracts/billing/holds.js';
import type { RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import { measureTraffic, renderTop, type Sample } from './top.js';

const ROUTE: RouteStatus = {
  ...{ model: 'm', upstream: 'a', upstreamModel: 'theirs', priority: 0, weight: 1, circuit: 'closed', cooldownMs: 0, isHealthy: true },
  ...{ inFlight: 2, concurrencyMax: null, upstreamInFlight: 2, upstreamConnectionsMax: 256, calls: 100, errors: { timeout: 4 } },
  ...{ durationMs: 900, firstContentMs: 90, tokensPerSecond: 40, tokens: { prompt: 1_000, output: 500 }, lastFailure: null },
};

function sample(at: number, routes: Record<string, Partial<RouteStatus>>, over: Partial<RouteStatusReply> = {}): Sample {
  const replies = Object.entries(routes).map(([replica, route]) => ({
    replica,
    catalogRevision: 7,
    routes: [{ ...ROUTE, ...route }],
    waiting: [],
    ...over,
  }));
  return { at, replies, holds: { holds: [], nextCursor: null } };
}

test('counts become rates; a replica counts from its second sample on', () => {
  const before = sample(1_000, { one: {} });
  const now = sample(3_000, { one: { calls: 125, errors: { timeout: 5 }, tokens: { prompt: 3_000, output: 600 } }, two: {} });
  const rates = { callsPerSecond: 12.5, failedPerSecond: 0.5, promptTokensPerSecond: 1_000, outputTokensPerSecond: 50 };
  expect(measureTraffic(before, now)).toEqual({
    replicas: 2,
    ...rates,
    routes: [
      { model: 'm', upstream: 'a', upstreamModel: 'theirs', state: 'up', inFlight: 4, ...rates, firstContentMs: 90, durationMs: 900 },
    ],
    waiting: [],
    inFlight: 4,
    holds: { count: 0, amountPicoUsd: '0', isComplete: true },
  });
});

test('shows totals, routes, queues of all replicas, and the money of the first page of holds', () => {
  const before = sample(0, { one: {}, two: { circuit: 'open', cooldownMs: 2_400 } }, { waiting: [{ model: 'm', requests: 3 }] });
  const holds = ['70000000000', '50000000000'].map((amountPicoUsd) => ({ amountPicoUsd }) as OpenHold);
  expect(renderTop(before, { ...before, at: 1_000, holds: { holds, nextCursor: 'more' } })).toBe(
    [
      '0 calls/s, 0 failed/s, 0 tokens/s in, 0 tokens/s out, 4 in flight, at least $0.12 on hold in 2 requests',
      '2 replicas of the inference-proxy',
      '',
      'MODEL  UPSTREAM  MODEL THERE  STATE               IN FLIGHT  CALLS/S  FAILED/S  TOKENS/S IN  TOKENS/S OUT  FIRST CONTENT  WHOLE CALL',
      'm      a         theirs       1 up, 1 down 2.4 s          4        0         0            0             0  90 ms          900 ms',
      '',
      '6 requests wait for m: its routes are full or open',
    ].join('\n'),
  );
});
