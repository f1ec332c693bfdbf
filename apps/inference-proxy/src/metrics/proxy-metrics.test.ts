import { Registry } from 'prom-client';
import type { ModelPrices, Upstream } from '#contracts/catalog.js';
import type { Usage } from '#inference/usage.js';
import { testTable } from '../../test/routing-fixture.js';
import { answering, TestUpstream } from '../../test/test-upstream.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { RouteCall } from '../routing/route-state.js';
import type { RouteTable, RoutingOptions } from '../routing/route-table.js';
import { ProxyMetrics } from './proxy-metrics.js';
import type { CallEnd } from './route-metrics.js';

let upstream: TestUpstream;
let table: RouteTable;

beforeEach(async () => {
  upstream = await TestUpstream.start(answering(500, ''));
});

afterEach(async () => {
  await table.close();
  await upstream.stop();
});

/** One model with one route. */
function setUp(options: Partial<RoutingOptions> = {}, over: Partial<Upstream> = {}, cost?: ModelPrices) {
  const registry = new Registry();
  table = testTable(options, registry);
  const routes = [{ upstream: 'test', model: 'theirs', weight: 1, priority: 0, ...(cost && { cost }) }];
  const apply = (edit: Partial<Upstream>, ...ids: string[]): void =>
    table.apply({ revision: 1, upstreams: [{ ...upstream.definition(), ...over, ...edit }], models: ids.map((id) => ({ id, routes })) });
  apply({}, 'm');
  const lines = async (name: RegExp): Promise<string[]> => {
    const metrics = await registry.metrics();
    return metrics.split('\n').filter((line) => name.test(line));
  };
  const breakerState = async (): Promise<number> => Number((await lines(/^tollgate_upstream_breaker_state\{/))[0]?.split(' ')[1]);
  return { apply, lines, breakerState };
}

function take(): RouteCall {
  const request = { model: 'm', turns: [], tools: [], output: { kind: 'text' as const }, stream: true, hints: {} };
  return table.acquire({ request, accountId: 'account', tried: new Set(), isFirst: true }, new AbortController().signal) as RouteCall;
}

const failure = new UpstreamFailure('unreachable', 'model_unavailable');
const FAILED: CallEnd = { outcome: failure.code, failure, usage: undefined };

test('counters exist at 0 from the start, so that alerts see their first increase', async () => {
  const { lines } = setUp();
  const labels = 'upstream="test",model="m",upstream_model="theirs"';
  const kinds = ['unreachable', 'stale', 'unanswered', 'refused', 'denied', 'rejected', 'timeout', 'slow', 'broken', 'empty', 'limit'];
  const codes = ['invalid_request', 'context_length_exceeded', 'unsupported_content', 'model_capacity', 'model_unavailable'];
  const outcomes = ['completed', 'cancelled', ...codes, 'upstream_error', 'upstream_timeout', 'internal_error'];
  const seen = await lines(/^tollgate_(upstream_errors|upstream_calls|model_retries)_total\{/);
  expect(seen.toSorted()).toEqual(
    [
      ...kinds.map((kind) => `tollgate_upstream_errors_total{${labels},kind="${kind}"} 0`),
      ...outcomes.map((outcome) => `tollgate_upstream_calls_total{${labels},outcome="${outcome}"} 0`),
      'tollgate_model_retries_total{model="m",outcome="made"} 0',
      'tollgate_model_retries_total{model="m",outcome="over-budget"} 0',
    ].toSorted(),
  );
});

test('calls cost what the cost price of their route says; without one there is no series', async () => {
  const cost = { inputPicoUsd: '3', cachedInputPicoUsd: '1', outputPicoUsd: '5', requestPicoUsd: '1000' };
  const usage = { promptTokens: 10, cachedTokens: 4, outputTokens: 2, reasoningTokens: 0 } as Usage;
  const readCost = async (lines: (name: RegExp) => Promise<string[]>): Promise<string[]> =>
    await lines(/^tollgate_upstream_cost_pico_usd_total\{/);
  const labels = 'upstream="test",model="m",upstream_model="theirs"';
  const free = setUp();
  take().end({ outcome: 'completed', failure: undefined, usage });
  expect(await readCost(free.lines)).toEqual([]);
  await table.close();
  const paid = setUp({}, {}, cost);
  expect(await readCost(paid.lines)).toEqual([`tollgate_upstream_cost_pico_usd_total{${labels}} 0`]);
  take().end({ outcome: 'completed', failure: undefined, usage });
  take().end(FAILED);
  expect(await readCost(paid.lines)).toEqual([`tollgate_upstream_cost_pico_usd_total{${labels}} 1032`]);
});

test('tokens beyond the cap of a request are counted from 0 on, whatever ended the call', async () => {
  const { lines } = setUp();
  const read = (): Promise<string[]> => lines(/^tollgate_upstream_unbilled_tokens_total\{/);
  const series = (tokens: number): string[] => [
    `tollgate_upstream_unbilled_tokens_total{upstream="test",model="m",upstream_model="theirs"} ${tokens}`,
  ];
  expect(await read()).toEqual(series(0));
  take().end({ outcome: 'completed', failure: undefined, usage: undefined, unbilledTokens: 5 });
  take().end({ ...FAILED, unbilledTokens: 2 });
  take().end(FAILED);
  expect(await read()).toEqual(series(7));
});

test('a changed dialect duplicates no series, and dialects of one provider share theirs', async () => {
  const { apply, lines } = setUp();
  for (const kind of ['openai-chat', 'openai-responses', 'anthropic-messages', 'openai-chat'] as const) {
    apply({ kind }, 'm');
    take().end(FAILED);
  }
  const counts = await lines(/^gen_ai_client_operation_duration_seconds_count\{/);
  expect(counts.map((line) => [/provider_name="(\w+)"/.exec(line)?.[1], line.split(' ').at(-1)])).toEqual([
    ['openai', '3'],
    ['anthropic', '1'],
  ]);
  const names = (await lines(/^[^#]/)).map((line) => line.slice(0, line.lastIndexOf(' ')));
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test('a stream that completed is one value of its mean time per chunk, and one per token', async () => {
  const registry = new Registry();
  const route = new ProxyMetrics(registry).ofRoute({ id: 'u', kind: 'openai-chat' }, 'm', 'theirs');
  const usage = { promptTokens: 1, cachedTokens: 0, outputTokens: 11, reasoningTokens: 0 } as Usage;
  const completed = {
    outcome: 'completed',
    failure: undefined,
    isStream: true,
    durationMs: 1_100,
    firstContentMs: 100,
    laterChunks: 4,
    usage,
  };
  const times = async (): Promise<string[]> => {
    const metrics = await registry.metrics();
    return metrics.split('\n').filter((line) => /_time_per_output_(chunk|token)_seconds_(sum|count)/.test(line));
  };
  for (const other of [
    { ...completed, isStream: false },
    { ...completed, ...FAILED },
    { ...completed, laterChunks: 0, usage: undefined },
  ])
    route.ended(other);
  expect(await times()).toEqual([]);
  route.ended(completed);
  const labels = '{upstream="u",model="m",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="theirs"}';
  expect(await times()).toEqual([
    `gen_ai_client_operation_time_per_output_chunk_seconds_sum${labels} 0.25`,
    `gen_ai_client_operation_time_per_output_chunk_seconds_count${labels} 1`,
    `gen_ai_server_time_per_output_token_seconds_sum${labels} 0.1`,
    `gen_ai_server_time_per_output_token_seconds_count${labels} 1`,
  ]);
});

describe('the breaker of a route is shown as', () => {
  const failAll = (): void => {
    for (let call = 0; call < 5; call++) take().end(FAILED);
  };

  test('2 until its cooldown has ended', async () => {
    const { breakerState } = setUp({ cooldownMs: 60_000 });
    failAll();
    expect(await breakerState()).toBe(2);
  });

  test('1 while a probe is due or in flight, and 0 after its success', async () => {
    const { breakerState } = setUp({ cooldownMs: 0 });
    failAll();
    const due = await breakerState();
    const probe = take();
    const probing = await breakerState();
    probe.onContent();
    expect([due, probing, await breakerState()]).toEqual([1, 1, 0]);
  });

  test('2 while the health check of its upstream fails, and 0 from its next good answer', async () => {
    const { apply, lines, breakerState } = setUp({}, { healthCheck: { path: '/health', intervalMs: 20 } });
    while ((await breakerState()) === 0) await new Promise(setImmediate);
    apply({}, 'm', 'new');
    const failing = (await lines(/^tollgate_upstream_breaker_state\{/)).map((line) => line.split(' ')[1]);
    upstream.behave(answering(200, ''));
    while ((await breakerState()) !== 0) await new Promise(setImmediate);
    expect(failing).toEqual(['2', '2']);
  });
});
