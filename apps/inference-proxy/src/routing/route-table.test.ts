import { once } from 'node:events';
import type { Route, Upstream } from '#contracts/catalog.js';
import type { Logger } from '#observability/logger.js';
import { CAPABILITIES } from '../../test/conformance.js';
import { testTable, upstreamNamed } from '../../test/routing-fixture.js';
import { answering, TestUpstream } from '../../test/test-upstream.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { CallEnd } from '../metrics/route-metrics.js';
import type { RouteCall, RouteState } from './route-state.js';
import type { RouteTable, RoutingOptions } from './route-table.js';

/** Routes, calls and sockets when a new catalog is applied while they are in use. */
const DONE: CallEnd = { outcome: 'completed', failure: undefined, usage: undefined };
const TIMEOUTS = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_000 };

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

type Entry = Partial<Upstream>;

const NO_KEY = 'upstream has no usable key: its calls fail';

/** One model `m`, with a route to each of the upstreams, by default to `a` alone. */
function setUp(options: Partial<RoutingOptions> = {}) {
  const logged: string[] = [];
  const note = (_fields: unknown, message: string) => logged.push(message);
  const table = testTable(options, undefined, { info: note, warn: note, error: note } as unknown as Logger);
  cleanUps.push(() => table.close());
  let revision = 0;
  const apply = (upstreams: Record<string, Entry> = { a: {} }, route: Partial<Route> = {}): void => {
    const entries = Object.entries(upstreams);
    table.apply({
      revision: ++revision,
      upstreams: entries.map(([id, over]) => ({ ...entry(id), ...over })),
      models: [{ id: 'm', routes: entries.map(([id]) => ({ upstream: id, model: 'theirs', weight: 1, priority: 0, ...route })) }],
    });
  };
  return { table, apply, logged, take: (...tried: RouteCall[]) => take(table, new Set(tried.map(({ route }) => route))) };
}

function entry(id: string): Upstream {
  return upstreamNamed(id, { timeouts: TIMEOUTS, connectionsMax: 9 });
}

function take(table: RouteTable, tried: ReadonlySet<RouteState> = new Set()): RouteCall {
  const request = { model: 'm', turns: [], tools: [], output: { kind: 'text' as const }, stream: true, hints: {} };
  const call = table.acquire({ request, accountId: 'account', tried, isFirst: tried.size === 0 }, new AbortController().signal);
  if (call instanceof Promise) throw new Error('it has to wait');
  return call;
}

function failing(kind: UpstreamFailure['kind'], retryAfterSeconds?: number): CallEnd {
  const failure = new UpstreamFailure(kind, 'model_unavailable', { retryAfterSeconds });
  return { outcome: failure.code, failure, usage: undefined };
}

const refusal = (code: string) => expect.objectContaining({ code });
const status = (table: RouteTable) => table.status('here').routes[0];

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

describe('an entry that is edited while calls are in flight', () => {
  const EDITS: [string, Entry][] = [
    ['its timeouts', { timeouts: { ...TIMEOUTS, firstByteMs: 9 } }],
    ['its capabilities', { capabilities: { ...CAPABILITIES, stop: !CAPABILITIES.stop } }],
    ['its dialect', { kind: 'anthropic-messages' }],
    ['its address', { baseUrl: 'http://other.example/v1' }],
    ['its key', { apiKeyEnv: 'ANOTHER_KEY' }],
    ['its sockets', { connectionsMax: 8 }],
  ];

  test.each(EDITS)('%s: its route keeps its calls, its cap and its counts', (_what, edit) => {
    const { table, apply, take } = setUp();
    apply({ a: {} }, { concurrencyMax: 2 });
    take().end(failing('refused'));
    const running = [take(), take()] as const;
    apply({ a: edit }, { concurrencyMax: 2 });
    expect(() => take()).toThrow(refusal('model_capacity'));
    expect(status(table)).toMatchObject({ inFlight: 2, upstreamInFlight: 2, calls: 1, errors: { refused: 1 } });
    for (const call of running) call.end(DONE);
    expect(status(table)).toMatchObject({ inFlight: 0, upstreamInFlight: 0, calls: 3, errors: { refused: 1 } });
    take();
  });

  test('calls by the earlier entry count for connectionsMax', () => {
    const { apply, take } = setUp();
    apply({ a: { connectionsMax: 3 } });
    const first = take();
    take();
    apply({ a: { connectionsMax: 2 } });
    expect(() => take()).toThrow(refusal('model_capacity'));
    first.end(DONE);
    take();
  });

  test('a call keeps the entry that it began with; the next one uses the new entry', () => {
    const { apply, take } = setUp();
    apply();
    const running = take();
    const edited = { timeouts: { ...TIMEOUTS, idleMs: 9 }, baseUrl: 'http://other.example/v2', apiKeyEnv: 'ANOTHER_KEY' };
    apply({ a: edited });
    expect(running.client).toMatchObject({ basePath: '/v1/', upstream: entry('a') });
    expect(take().client).toMatchObject({ basePath: '/v2/', upstream: edited });
  });

  test('a request that has failed is not retried on the same route', () => {
    const { apply, take } = setUp();
    apply();
    const failed = take();
    failed.end(failing('refused'));
    apply({ a: { apiKeyEnv: 'ANOTHER_KEY' } });
    expect(() => take(failed)).toThrow(refusal('model_unavailable'));
  });

  test('a call is counted for the dialect that it began with', async () => {
    const { apply, take } = setUp();
    apply();
    const running = take();
    apply({ a: { kind: 'anthropic-messages' } });
    const next = take();
    expect([running.metrics.inFlight, next.metrics.inFlight]).toEqual([1, 1]);
    running.end(DONE);
    expect([running.metrics.inFlight, next.metrics.inFlight]).toEqual([0, 1]);
  });

  test('room that it makes goes to waiting requests', async () => {
    const { table, apply, take } = setUp({ queueMax: 1, queueWaitMs: 60_000 });
    apply({ a: { connectionsMax: 1 } });
    take();
    const request = { model: 'm', turns: [], tools: [], output: { kind: 'text' as const }, stream: true, hints: {} };
    const waiting = table.acquire({ request, accountId: 'account', tried: new Set(), isFirst: true }, new AbortController().signal);
    apply({ a: { connectionsMax: 2, baseUrl: 'http://other.example/v1' } });
    expect((await waiting).client.upstream.baseUrl).toBe('http://other.example/v1');
  });
});

describe('Retry-After of a route, when the entry of its upstream is edited,', () => {
  test.each<[string, Entry]>([
    ['timeouts', { timeouts: { ...TIMEOUTS, firstByteMs: 9 } }],
    ['sockets', { connectionsMax: 3 }],
    ['capabilities', { capabilities: { ...CAPABILITIES, stop: !CAPABILITIES.stop } }],
  ])('stays: %s', (_what, edit) => {
    const { apply, take } = setUp();
    apply();
    take().end(failing('refused', 60));
    apply({ a: edit });
    expect(() => take()).toThrow(refusal('model_unavailable'));
  });

  test.each<[string, Entry]>([
    ['address', { baseUrl: 'http://other.example/v1' }],
    ['dialect', { kind: 'openai-responses' }],
    ['key', { apiKeyEnv: 'ANOTHER_KEY' }],
    ['file of the key', { apiKeyFile: 'key' }],
    ['certificates', { tls: { caFile: 'ca.pem' } }],
    ['network', { allowPrivateNetwork: true }],
  ])('is dropped, because another server is called: %s', (_what, edit) => {
    const { apply, take, logged } = setUp();
    apply();
    take().end(failing('refused', 60));
    apply({ a: edit });
    take();
    expect(logged.filter((line) => line !== NO_KEY)).toEqual([
      'upstream asked not to be called',
      'route reset: address, key or TLS settings changed',
    ]);
  });
});

test('calls by the earlier entry say nothing about another server', () => {
  const { table, apply, take } = setUp();
  apply();
  const calls = Array.from({ length: 6 }, () => take());
  apply({ a: { baseUrl: 'http://other.example/v1' } });
  for (const call of calls) call.end(failing('refused', 60));
  expect(status(table)).toMatchObject({ circuit: 'closed', cooldownMs: 0 });
});

test('the log has each circuit that opens and closes', () => {
  const { apply, take, logged } = setUp();
  apply();
  for (let call = 0; call < 5; call++) take().end(failing('unreachable'));
  take().onContent();
  expect(logged).toEqual(['circuit open', 'circuit closed']);
});

describe('an upstream that leaves the catalog with calls in flight, and comes back,', () => {
  test('still has them', () => {
    const { table, apply, take } = setUp();
    apply({ a: {} }, { concurrencyMax: 1 });
    const running = take();
    apply({});
    expect(() => take()).toThrow(refusal('model_unavailable'));
    apply({}, { weight: 2 });
    apply({ a: {} }, { concurrencyMax: 1 });
    expect(() => take()).toThrow(refusal('model_capacity'));
    expect(status(table)).toMatchObject({ inFlight: 1, upstreamInFlight: 1 });
    running.end(DONE);
    expect(take().client.isClosed).toBe(false);
  });

  test('counts them for another model as well', () => {
    const { apply, take } = setUp();
    apply({ a: { connectionsMax: 1 } });
    const running = take();
    apply({});
    apply({ a: { connectionsMax: 1 } }, { model: 'another' });
    expect(() => take()).toThrow(refusal('model_capacity'));
    running.end(DONE);
    take();
  });

  test('is new when it has none', () => {
    const { table, apply, take } = setUp();
    apply();
    take().end(failing('refused', 60));
    apply({});
    apply();
    expect(status(table)).toMatchObject({ circuit: 'closed', calls: 0 });
  });
});

describe('sockets', () => {
  test.each<[string, string, Entry]>([
    ['other timeouts of a reply', 'kept', { timeouts: { ...TIMEOUTS, firstByteMs: 9, idleMs: 9, totalMs: 9 } }],
    ['another key', 'kept', { apiKeyEnv: 'ANOTHER_KEY' }],
    ['another path', 'kept', { baseUrl: 'http://a.example/v2' }],
    ['another host', 'opened anew', { baseUrl: 'http://b.example/v1' }],
    ['more of them', 'opened anew', { connectionsMax: 10 }],
    ['other certificates', 'opened anew', { tls: { caFile: 'ca.pem' } }],
    ['another network', 'opened anew', { allowPrivateNetwork: true }],
    ['another time to connect', 'opened anew', { timeouts: { ...TIMEOUTS, connectMs: 9 } }],
  ])('after %s: %s', (_what, fate, edit) => {
    const { apply, take } = setUp();
    apply();
    const before = take().client.pool;
    apply({ a: edit });
    const isKept = fate === 'kept';
    expect({ isKept: take().client.pool === before, isClosed: before.closed }).toEqual({ isKept, isClosed: !isKept });
  });

  test('that are not kept are closed when their last call has ended', async () => {
    const server = await TestUpstream.start((_request, response) => void response.writeHead(200).write('first'));
    cleanUps.push(() => server.stop());
    const { apply, take } = setUp();
    apply({ a: server.definition({ id: 'a' }) });
    const asked = server.nextRequest();
    const { body } = await take().client.pool.request({ method: 'GET', path: '/' });
    const { socket } = await asked;
    server.behave((_request, response) => void response.end());
    apply({ a: server.definition({ id: 'a', connectionsMax: 2 }) });
    const next = await take().client.pool.request({ method: 'GET', path: '/' });
    await next.body.dump();
    expect({ isOpen: !socket.destroyed, connections: server.connections }).toEqual({ isOpen: true, connections: 2 });
    const closed = once(socket, 'close');
    body.destroy();
    await closed;
  });
});

describe('a health check', () => {
  // An interval is also the time to answer, which a busy machine needs.
  const healthCheck = { path: '/health', intervalMs: 500 };
  const startUnhealthy = async () => {
    const server = await TestUpstream.start(answering(503, ''));
    cleanUps.push(() => server.stop());
    const { table, apply, take, logged } = setUp();
    const makeEntry = (over: Entry = {}): Record<string, Entry> => ({ a: { ...server.definition({ id: 'a' }), healthCheck, ...over } });
    apply(makeEntry());
    await until(() => !isHealthy(table));
    return { server, table, apply, take, logged, makeEntry };
  };
  const isHealthy = (table: RouteTable) => status(table)?.isHealthy;

  test('that fails opens the routes of its upstream, and closes them when it passes again', async () => {
    const { server, table, logged } = await startUnhealthy();
    const lastFailure = { kind: 'unreachable', detail: 'health check: /health answers 503' };
    expect(status(table)).toMatchObject({ circuit: 'open', calls: 0, errors: {}, lastFailure });
    server.behave(answering(200, ''));
    await until(() => isHealthy(table) === true);
    expect(status(table)).toMatchObject({ circuit: 'closed' });
    expect(logged).toEqual(['health check failed', 'health check passed']);
  });

  test('that fails keeps calls on another route, and is ignored where there is none', async () => {
    const { take, apply, makeEntry } = await startUnhealthy();
    expect(take().client.upstream.id).toBe('a');
    apply({ ...makeEntry(), b: {} });
    for (let call = 0; call < 5; call++) expect(take().client.upstream.id).toBe('b');
  });

  test('that passes again does not close a circuit that calls have opened', async () => {
    const { server, table, take } = await startUnhealthy();
    for (let call = 0; call < 5; call++) take().end(failing('refused'));
    server.behave(answering(200, ''));
    await until(() => isHealthy(table) === true);
    expect(status(table)?.circuit).not.toBe('closed');
  });

  test.each<[string, (server: TestUpstream) => Entry]>([
    ['is removed', () => ({ healthCheck: null })],
    ['has another path', () => ({ healthCheck: { path: '/right', intervalMs: 60_000 } })],
    ['has another address', ({ port }) => ({ baseUrl: `http://localhost:${port}/v1` })],
  ])('begins anew when it %s', async (_what, edit) => {
    const { server, table, apply, makeEntry } = await startUnhealthy();
    apply(makeEntry(edit(server)));
    expect(isHealthy(table)).toBe(true);
  });
});

test('the certificates in use are those of the upstreams in the catalog, each file once', () => {
  const { table, apply } = setUp();
  const tls = { caFile: 'ca.pem', certFile: 'ours.pem', keyFile: 'ours.key' };
  const names = () => table.certificates().map(({ name }) => name);
  apply({ a: { tls }, b: { tls: { caFile: 'ca.pem' } }, c: {} });
  const before = names();
  apply({ b: { tls: { caFile: 'other.pem' } } });
  expect([before, names()]).toEqual([['ca.pem', 'ours.pem'], ['other.pem']]);
});

test('an upstream without a usable key is logged with each catalog that has it', () => {
  const { apply, logged } = setUp();
  apply({ a: {}, b: { apiKeyEnv: 'HOME' } });
  apply({ a: {}, b: { apiKeyEnv: 'UPSTREAM_KEY_NOT_SET' } });
  apply({ a: {} });
  expect(logged.filter((line) => line === NO_KEY)).toHaveLength(2);
});

test('the status says where each enabled upstream is, and whether its key can be used', () => {
  process.env.UPSTREAM_KEY_PAID = 'sk-1';
  process.env.UPSTREAM_KEY_PAID_HOSTS = 'paid.example';
  const { table, apply } = setUp();
  const healthCheck = { path: '/health', intervalMs: 60_000 };
  const paid = { baseUrl: 'https://paid.example/v1', apiKeyEnv: 'UPSTREAM_KEY_PAID', healthCheck };
  const keyless = { apiKeyEnv: 'UPSTREAM_KEY_NOT_SET' };
  apply({ free: {}, paid, keyless, gone: {} });
  apply({ free: {}, paid, keyless });
  const at = (upstream: string) => ({ upstream, kind: 'openai-chat', baseUrl: `http://${upstream}.example/v1` });
  expect(table.status('here').upstreams).toEqual([
    { ...at('free'), key: 'none', keyFault: null, healthCheckPath: null },
    { ...at('paid'), baseUrl: paid.baseUrl, key: 'usable', keyFault: null, healthCheckPath: '/health' },
    { ...at('keyless'), key: 'missing', keyFault: 'no key in UPSTREAM_KEY_NOT_SET', healthCheckPath: null },
  ]);
});
