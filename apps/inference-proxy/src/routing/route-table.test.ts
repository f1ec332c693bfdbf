import { once } from 'node:events';
import type { Route, Upstream } from '#contracts/catalog.js';
import type { Logger } from '#observability/logger.js';
import { CAPABILITIES } from '../../test/conformance.js';
import { testTable, upstreamNamed } from '../../test/routing-fixture.js';
import { answering, TestUpstream } from '../../test/test-upstream.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { CallEnd, RouteCall } from './route-call.js';
import type { RouteState } from './route-state.js';
import type { RouteTable, RoutingOptions } from './route-table.js';

/** What becomes of routes, calls and sockets when a new catalog is applied while they are in use. */
const DONE: CallEnd = { outcome: 'completed', failure: undefined, usage: undefined };
const TIMEOUTS = { connectMs: 1_000, firstByteMs: 1_000, idleMs: 1_000, totalMs: 1_000 };
const LONG_REST: Partial<RoutingOptions> = { restMs: 60_000, restMsMax: 60_000 };

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

type Entry = Partial<Upstream>;

/** One model `m`, with a route to each of the upstreams, by default to `a` alone. */
function setUp(terms: Partial<RoutingOptions> = {}) {
  const logged: string[] = [];
  const note = (_fields: unknown, message: string) => logged.push(message);
  const table = testTable(terms, undefined, { info: note, warn: note } as unknown as Logger);
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
  const call = table.acquire(request, 'account', tried, new AbortController().signal);
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

describe('an entry that is edited while calls are under way', () => {
  const EDITS: [string, Entry][] = [
    ['its timeouts', { timeouts: { ...TIMEOUTS, firstByteMs: 9 } }],
    ['its capabilities', { capabilities: { ...CAPABILITIES, stop: !CAPABILITIES.stop } }],
    ['its dialect', { kind: 'anthropic-messages' }],
    ['its address', { baseUrl: 'http://other.example/v1' }],
    ['its key', { apiKeyEnv: 'ANOTHER_KEY' }],
    ['its sockets', { connectionsMax: 8 }],
  ];

  test.each(EDITS)('%s: its route takes no more calls than its cap says, and forgets none', (_what, edit) => {
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

  test('the upstream takes no more calls than it may have sockets, those of the entry before included', () => {
    const { apply, take } = setUp();
    apply({ a: { connectionsMax: 3 } });
    const first = take();
    take();
    apply({ a: { connectionsMax: 2 } });
    expect(() => take()).toThrow(refusal('model_capacity'));
    first.end(DONE);
    take();
  });

  test('a call ends by the entry it began with; the next one goes by the new one', () => {
    const { apply, take } = setUp();
    apply();
    const running = take();
    const edited = { timeouts: { ...TIMEOUTS, idleMs: 9 }, baseUrl: 'http://other.example/v2', apiKeyEnv: 'ANOTHER_KEY' };
    apply({ a: edited });
    expect(running.client).toMatchObject({ basePath: '/v1/', upstream: entry('a') });
    expect(take().client).toMatchObject({ basePath: '/v2/', upstream: edited });
  });

  test('a request that has failed is not tried on the same route as on another one', () => {
    const { apply, take } = setUp();
    apply();
    const failed = take();
    failed.end(failing('refused'));
    apply({ a: { apiKeyEnv: 'ANOTHER_KEY' } });
    expect(() => take(failed)).toThrow(refusal('model_unavailable'));
  });

  test('calls of a dialect are counted as its own, also when it is another one by their end', async () => {
    const { apply, take } = setUp();
    apply();
    const running = take();
    apply({ a: { kind: 'anthropic-messages' } });
    const next = take();
    expect([running.metrics.inFlight, next.metrics.inFlight]).toEqual([1, 1]);
    running.end(DONE);
    expect([running.metrics.inFlight, next.metrics.inFlight]).toEqual([0, 1]);
  });

  test('room that it makes goes to who waits for it', async () => {
    const { table, apply, take } = setUp({ queueMax: 1, queueWaitMs: 60_000 });
    apply({ a: { connectionsMax: 1 } });
    take();
    const request = { model: 'm', turns: [], tools: [], output: { kind: 'text' as const }, stream: true, hints: {} };
    const waiting = table.acquire(request, 'account', new Set(), new AbortController().signal);
    apply({ a: { connectionsMax: 2, baseUrl: 'http://other.example/v1' } });
    expect((await waiting).client.upstream.baseUrl).toBe('http://other.example/v1');
  });
});

describe('a route that rests when the entry of its upstream is edited', () => {
  test.each<[string, Entry]>([
    ['timeouts', { timeouts: { ...TIMEOUTS, firstByteMs: 9 } }],
    ['sockets', { connectionsMax: 3 }],
    ['capabilities', { capabilities: { ...CAPABILITIES, stop: !CAPABILITIES.stop } }],
  ])('goes on resting: %s', (_what, edit) => {
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
  ])('is called at once, since that is what it was mended for: %s', (_what, edit) => {
    const { apply, take, logged } = setUp();
    apply();
    take().end(failing('refused', 60));
    apply({ a: edit });
    expect(take().route.breaker.state).toBe('closed');
    expect(logged).toEqual(['route rests: its upstream fails', 'route begins anew: the entry of its upstream has changed']);
  });

  test('and what calls of the entry before still tell, says nothing of the new one', () => {
    const { apply, take } = setUp(LONG_REST);
    apply();
    const old = [take(), take(), take()];
    apply({ a: { baseUrl: 'http://other.example/v1' } });
    const route = old[0]?.route as RouteState;
    expect(route.waitingMs(performance.now())).toBe(0);
    old[0]?.end(failing('unreachable'));
    old[1]?.end(failing('refused', 60));
    old[2]?.contentCame();
    expect({ state: route.breaker.state, latencyMs: route.latencyMs(performance.now()) }).toEqual({
      state: 'closed',
      latencyMs: undefined,
    });
    take();
  });
});

describe('an upstream that leaves the catalog with calls under way, and comes back', () => {
  test('has them still', () => {
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

  test('counts them against another model there as well', () => {
    const { apply, take } = setUp();
    apply({ a: { connectionsMax: 1 } });
    const running = take();
    apply({});
    apply({ a: { connectionsMax: 1 } }, { model: 'another' });
    expect(() => take()).toThrow(refusal('model_capacity'));
    running.end(DONE);
    take();
  });

  test('without any it is as new', () => {
    const { table, apply, take } = setUp();
    apply();
    take().end(failing('refused', 60));
    apply({});
    apply();
    expect(status(table)).toMatchObject({ breaker: 'closed', calls: 0 });
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
  const healthCheck = { path: '/health', intervalMs: 250 };
  const startIll = async (terms: Partial<RoutingOptions> = LONG_REST) => {
    const server = await TestUpstream.start(answering(503, ''));
    cleanUps.push(() => server.stop());
    const { table, apply, take, logged } = setUp(terms);
    const entryOf = (over: Entry = {}): Record<string, Entry> => ({ a: { ...server.definition({ id: 'a' }), healthCheck, ...over } });
    return { server, table, apply, take, logged, entryOf };
  };
  const isWell = (table: RouteTable) => status(table)?.isWell;

  test('that is good again undoes what it has done, and the log has it: its routes need no rest and no probe', async () => {
    const { server, table, apply, take, logged, entryOf } = await startIll();
    apply(entryOf());
    await until(() => isWell(table) === false);
    expect(status(table)).toMatchObject({ breaker: 'open' });
    server.behave(answering(200, ''));
    await until(() => isWell(table) === true);
    expect(status(table)).toMatchObject({ breaker: 'closed' });
    expect(logged).toEqual(['route rests: its upstream fails', 'route is well again']);
    take();
  });

  test('that is good again says nothing against what calls have shown', async () => {
    const { server, table, apply, take, entryOf } = await startIll();
    apply(entryOf());
    take().end(failing('unreachable'));
    await until(() => isWell(table) === false);
    server.behave(answering(200, ''));
    await until(() => isWell(table) === true);
    expect(status(table)).toMatchObject({ breaker: 'open' });
  });

  test('with another path is asked at once, and until it answers what is known stays', async () => {
    const { server, table, apply, entryOf } = await startIll();
    apply(entryOf({ healthCheck: { ...healthCheck, intervalMs: 20 } }));
    await until(() => isWell(table) === false);
    server.behave((request, response) => answering(request.url === '/right' ? 200 : 404, '')(request, response));
    apply(entryOf({ healthCheck: { path: '/right', intervalMs: 60_000 } }));
    expect(isWell(table)).toBe(false);
    await until(() => isWell(table) === true);
    expect(status(table)).toMatchObject({ breaker: 'closed' });
  });

  test.each<[string, (server: TestUpstream) => Entry]>([
    ['without it', () => ({ healthCheck: null })],
    ['elsewhere', ({ port }) => ({ baseUrl: `http://localhost:${port}/v1` })],
  ])('says nothing of an upstream %s', async (_what, edit) => {
    const { server, table, apply, entryOf } = await startIll();
    apply(entryOf({ healthCheck: { ...healthCheck, intervalMs: 20 } }));
    await until(() => isWell(table) === false);
    apply(entryOf(edit(server)));
    expect(isWell(table)).toBe(true);
  });
});
