import { Registry } from 'prom-client';
import type { Upstream } from '#contracts/catalog.js';
import { testTable } from '../../test/routing-fixture.js';
import { answering, TestUpstream } from '../../test/test-upstream.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { RouteCall } from '../routing/route-state.js';
import type { RouteTable, RoutingOptions } from '../routing/route-table.js';
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
function setUp(options: Partial<RoutingOptions> = {}, over: Partial<Upstream> = {}) {
  const registry = new Registry();
  table = testTable(options, registry);
  const routes = [{ upstream: 'test', model: 'theirs', weight: 1, priority: 0 }];
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
