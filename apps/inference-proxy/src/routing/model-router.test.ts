import { Registry } from 'prom-client';
import type { Route, Upstream } from '#contracts/catalog.js';
import { testTable, upstreamNamed } from '../../test/routing-fixture.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { CallEnd, RouteCall } from './route-call.js';
import type { RouteTable, RoutingOptions } from './route-table.js';

const DONE: CallEnd = { outcome: 'completed', failure: undefined, usage: undefined };

const tables: RouteTable[] = [];
afterEach(async () => {
  for (const table of tables.splice(0)) await table.close();
});

/** Models with their routes; every upstream they name has one socket, unless `upstreams` says otherwise. */
function setUp(
  models: Record<string, Partial<Route>[]>,
  terms: Partial<RoutingOptions> = {},
  upstreams: Upstream[] = [],
  registry = new Registry(),
) {
  const table = testTable({ queueMax: 9, queueWaitMs: 60_000, restMs: 1_000, restMsMax: 4_000, waitMsMax: 60_000, ...terms }, registry);
  tables.push(table);
  let revision = 0;
  const apply = (now: Record<string, Partial<Route>[]>): void => {
    const named = new Set(Object.values(now).flatMap((routes) => routes.map((route) => route.upstream ?? 'a')));
    table.apply({
      revision: ++revision,
      upstreams: [...named].map((id) => upstreams.find((known) => known.id === id) ?? upstreamNamed(id)),
      models: Object.entries(now).map(([id, routes]) => ({
        id,
        routes: routes.map((route) => ({ upstream: 'a', model: 'theirs', weight: 1, priority: 0, ...route })),
      })),
    });
  };
  apply(models);
  /** The account that asks; `as` changes it. */
  let accountId = 'account';
  const as = (account: string): void => {
    accountId = account;
  };
  const ask = (model = 'm', tried: RouteCall[] = [], signal = new AbortController().signal, isFirst = tried.length === 0) => {
    const request = { model, turns: [], tools: [], output: { kind: 'text' as const }, stream: true, hints: {} };
    return table.acquire(request, accountId, new Set(tried.map(({ route }) => route)), signal, isFirst);
  };
  /** A call at once. */
  const take = (model = 'm', tried: RouteCall[] = []): RouteCall => {
    const call = ask(model, tried);
    if (call instanceof Promise) throw new Error('it has to wait');
    return call;
  };
  return { table, apply, as, ask, take };
}

const failed = (over: Partial<UpstreamFailure> = {}): CallEnd => {
  const failure = new UpstreamFailure(over.kind ?? 'refused', over.code ?? 'upstream_error', { retryAfterSeconds: over.retryAfterSeconds });
  return { outcome: failure.code, failure, usage: undefined };
};
const refusal = (code: string) => expect.objectContaining({ code });

test('a route takes as many calls as its cap says, beside those of its upstream', () => {
  const { take, ask } = setUp({ m: [{ concurrencyMax: 2 }], n: [{}] }, { queueMax: 0 }, [upstreamNamed('a', { connectionsMax: 3 })]);
  const first = take();
  take();
  expect(() => ask()).toThrow(refusal('model_capacity'));
  take('n');
  first.end(DONE);
  take('n');
  expect(() => ask()).toThrow(refusal('model_capacity'));
});

describe('shares of accounts', () => {
  const CALLS_MAX = 1_000;
  /** As many calls as the account gets at once. */
  const takeAll = ({ as, ask }: ReturnType<typeof setUp>, account: string, model = 'm'): RouteCall[] => {
    const calls: RouteCall[] = [];
    const leaving = new AbortController();
    as(account);
    try {
      while (calls.length < CALLS_MAX) {
        const call = ask(model, [], leaving.signal);
        if (call instanceof Promise) {
          call.catch(() => undefined);
          break;
        }
        calls.push(call);
      }
      leaving.abort(new Error('left'));
    } catch (error) {
      expect(error).toEqual(refusal('model_capacity'));
    }
    return calls;
  };

  test.each<[string, Partial<Route>, number]>([
    ['the sockets of an upstream', {}, 100],
    ['the cap of a route', { concurrencyMax: 100 }, 999],
  ])('one account gets four fifths of %s, and others the rest', (_what, route, connectionsMax) => {
    const it = setUp({ m: [route] }, { queueMax: 0 }, [upstreamNamed('a', { connectionsMax })]);
    const taken = ['first', 'second', 'third'].map((account) => takeAll(it, account).length);
    expect(taken).toEqual([80, 16, 4]);
  });

  test('the share of an upstream is one for all models there', () => {
    const it = setUp({ m: [{}], n: [{}] }, { queueMax: 0 }, [upstreamNamed('a', { connectionsMax: 100 })]);
    expect([takeAll(it, 'first', 'm').length, takeAll(it, 'first', 'n').length]).toEqual([80, 0]);
  });

  test('an account that has used up its share of one route goes to the next, whatever its tier', () => {
    const routes = [
      { upstream: 'a', concurrencyMax: 10 },
      { upstream: 'b', priority: 1 },
    ];
    const it = setUp({ m: routes }, { queueMax: 0 }, [
      upstreamNamed('a', { connectionsMax: 99 }),
      upstreamNamed('b', { connectionsMax: 99 }),
    ]);
    const calls = takeAll(it, 'first').map(({ client }) => client.upstream.id);
    expect([calls.filter((id) => id === 'a').length, calls.length]).toEqual([8, 88]);
  });

  test('an account that has used up its share waits, is told when to come back, and is served by the next call that ends', async () => {
    const it = setUp({ m: [{}] }, {}, [upstreamNamed('a', { connectionsMax: 10 })]);
    const [running] = takeAll(it, 'first');
    if (running === undefined) throw new Error('no call was taken');
    running.route.statistics.durationMs = 80_000;
    it.as('first');
    const waiting = it.ask();
    expect(it.table.status('here').waiting).toEqual([{ model: 'm', requests: 1 }]);
    expect([it.table.retryAfterSeconds('m', 'first'), it.table.retryAfterSeconds('m', 'second')]).toEqual([20, 1]); // one of eight calls of 80 s ends every 10 s
    it.as('second');
    const other = it.take();
    other.end(DONE);
    running.end(DONE);
    expect((await waiting).accountId).toBe('first');
  });

  test('whichever account asks tries a route that has rested', () => {
    const it = setUp({ m: [{}] }, { queueMax: 0, restMs: 0, restMsMax: 0 }, [upstreamNamed('a', { connectionsMax: 10 })]);
    takeAll(it, 'first');
    const breaker = it.table.status('here').routes[0]?.breaker;
    it.as('second');
    const [failing] = takeAll(it, 'second');
    failing?.end(failed({ kind: 'unreachable' }));
    it.as('first');
    expect([breaker, it.take().route.breaker.state]).toEqual(['closed', 'half-open']);
  });
});

test('whoever waits gets the next room, of any model on the upstream, in the order they came', async () => {
  const { take, ask } = setUp({ m: [{}], n: [{}] });
  const running = take();
  const order: string[] = [];
  const waits = ['n', 'm', 'n'].map(async (model, index) => {
    const call = await ask(model);
    order.push(`${index} ${model}`);
    call.end(DONE);
  });
  running.end(DONE);
  await Promise.all(waits);
  expect(order).toEqual(['0 n', '1 m', '2 n']);
});

test('whoever has tried a route does not wait before those who can use it', async () => {
  const { take, ask } = setUp({
    m: [
      { upstream: 'a', priority: 0 },
      { upstream: 'b', priority: 1 },
    ],
  });
  const [onA, onB] = [take(), take()];
  const again = ask('m', [onA]);
  const fresh = ask('m');
  onA.end(DONE);
  expect((await fresh).route).toBe(onA.route);
  onB.end(DONE);
  expect((await again).route).toBe(onB.route);
});

test('nobody waits for a route whose upstream has asked for rest', async () => {
  const { take, ask } = setUp({ m: [{}] }, {}, [upstreamNamed('a', { connectionsMax: 2 })]);
  const [first, second] = [take(), take()];
  const waiting = ask();
  first.end(failed({ code: 'model_unavailable', retryAfterSeconds: 9 }));
  await expect(waiting).rejects.toEqual(refusal('model_unavailable'));
  expect(() => ask()).toThrow(refusal('model_unavailable'));
  second.end(DONE);
});

describe('when the only route has failed', () => {
  const LONG = { restMs: 60_000, restMsMax: 60_000 };
  const alone = (terms: Partial<RoutingOptions> = {}) => setUp({ m: [{}] }, terms, [upstreamNamed('a', { connectionsMax: 9 })]);

  test('the next request waits a moment and is tried on it; what waits besides is served by its success', async () => {
    const { take, ask } = alone({ restMs: 300, restMsMax: 300 });
    take().end(failed({ kind: 'unreachable' }));
    const waits = [ask(), ask(), ask()] as Promise<RouteCall>[];
    const probe = await (waits[0] as Promise<RouteCall>);
    expect(probe.route.breaker.state).toBe('half-open');
    probe.contentCame();
    expect((await Promise.all(waits)).map(({ route }) => route.breaker.state)).toEqual(['closed', 'closed', 'closed']);
  });

  test('who comes when an upstream has rested as it asked waits for the one call that tries it, and hears what that has found', async () => {
    const { take, ask } = setUp({ m: [{}] }, {}, [upstreamNamed('a', { connectionsMax: 9 })]);
    take().end(failed({ code: 'model_capacity', retryAfterSeconds: 0 }));
    const probe = take();
    const others = [ask(), ask()] as Promise<RouteCall>[];
    probe.contentCame();
    for (const call of await Promise.all(others)) call.end(DONE);
    probe.end(DONE);

    take().end(failed({ code: 'model_capacity', retryAfterSeconds: 0 }));
    const second = take();
    const unlucky = ask();
    second.end(failed({ code: 'model_capacity', retryAfterSeconds: 9 }));
    await expect(unlucky).rejects.toEqual(refusal('model_capacity'));
  });

  test('nobody waits for longer than a hiccup takes, and then nobody waits at all', async () => {
    const { take, ask } = alone({ ...LONG, queueWaitMs: 20 });
    take().end(failed({ kind: 'unreachable' }));
    await expect(ask()).rejects.toEqual(refusal('model_unavailable'));
    expect(() => ask()).toThrow(refusal('model_unavailable'));
  });

  test('who does not fit into the line is not told that all is full', () => {
    const { take, ask } = alone({ ...LONG, queueMax: 0 });
    take().end(failed({ kind: 'unreachable' }));
    expect(() => ask()).toThrow(refusal('model_unavailable'));
  });

  test('it is not tried where nothing gets better until the operator acts', () => {
    const { take, ask } = alone(LONG);
    for (let call = 0; call < 5; call++) take().end(failed({ kind: 'denied' }));
    expect(() => ask()).toThrow(refusal('model_unavailable'));
  });

  test('who has failed on another one does not wait for it', () => {
    const { take, ask } = setUp({ m: [{}, { upstream: 'b' }] }, LONG);
    const first = take();
    first.end(failed({ kind: 'unreachable' }));
    take().end(failed({ kind: 'unreachable' }));
    expect(() => ask('m', [first])).toThrow(refusal('model_unavailable'));
  });
});

test('a new catalog serves who waits, and a model that is gone refuses them', async () => {
  const { take, ask, apply } = setUp({ m: [{}], n: [{}] });
  take();
  const [onM, onN] = [ask('m'), ask('n')];
  apply({ m: [{}, { upstream: 'b' }] });
  expect((await onM).route.client.upstream.id).toBe('b');
  await expect(onN).rejects.toEqual(refusal('model_unavailable'));
});

test('a route that stays in the catalog keeps its calls and its breaker, with its new weight', () => {
  const { take, apply } = setUp({ m: [{ weight: 1 }] });
  const call = take();
  call.end(failed({ kind: 'unreachable' }));
  apply({ m: [{ weight: 7 }, { upstream: 'b' }] });
  expect(call.route).toMatchObject({ breaker: { state: 'open' }, definition: { weight: 7 } });
  expect(take().route.client.upstream.id).toBe('b');
});

test('an upstream nobody can reach is down for all models at once; another one is not', () => {
  const { take, ask } = setUp({ m: [{}], n: [{}], o: [{ upstream: 'b' }] }, { queueMax: 0 });
  take('m').end(failed({ kind: 'unreachable' }));
  expect(() => ask('n')).toThrow(refusal('model_unavailable'));
  expect(take('o').route.client.upstream.id).toBe('b');
});

test('a failing route says nothing of another model on the same upstream', () => {
  const { take, ask } = setUp({ m: [{}], n: [{}] }, { queueMax: 0 });
  for (let call = 0; call < 5; call++) take('m').end(failed());
  expect(() => ask('m')).toThrow(refusal('model_unavailable'));
  take('n').end(DONE);
});

test.each([
  ['rejects the request', failed({ kind: 'rejected', code: 'context_length_exceeded' })],
  ['has nothing to say', failed({ kind: 'empty' })],
  ['says more than there is room for', failed({ kind: 'limit', code: 'model_capacity' })],
  ['had closed an idle connection', failed({ kind: 'stale' })],
  ['was cancelled', { outcome: 'cancelled', failure: undefined, usage: undefined }],
])('an upstream that %s is not ill', (_, end) => {
  const { take } = setUp({ m: [{}] });
  for (let call = 0; call < 20; call++) take().end(end);
  expect(take().route.breaker.state).toBe('closed');
});

describe('when to come back [H-4]', () => {
  test('as the upstream has said', () => {
    const { take, ask, table } = setUp({ m: [{}] });
    take().end(failed({ code: 'model_capacity', retryAfterSeconds: 17 }));
    expect(() => ask()).toThrow(refusal('model_capacity'));
    expect(table.retryAfterSeconds('m', 'account')).toBe(17);
  });

  test('when the breaker lets the next call through; the earliest of all routes', () => {
    const { take, table } = setUp({ m: [{ priority: 0 }, { upstream: 'b', priority: 1 }] }, { restMs: 40_000, restMsMax: 40_000 });
    take().end(failed({ code: 'model_unavailable', retryAfterSeconds: 60 }));
    expect(table.retryAfterSeconds('m', 'account')).toBe(1);
    take().end(failed({ kind: 'unreachable' }));
    expect(table.retryAfterSeconds('m', 'account')).toBe(4);
  });

  test('of a route that must rest, when it has', () => {
    const { take, table } = setUp({ m: [{}] }, { restMs: 4_000 });
    for (let call = 0; call < 5; call++) take().end(failed({ kind: 'denied' }));
    expect(table.retryAfterSeconds('m', 'account')).toBe(4);
  });

  test('by the length of the calls and of the line when all are full', async () => {
    const { take, ask, table } = setUp({ m: [{}] });
    const leaving = new AbortController();
    const running = take();
    running.route.statistics.durationMs = 6_000;
    expect(table.retryAfterSeconds('m', 'account')).toBe(6);
    const waits = [ask('m', [], leaving.signal), ask('m', [], leaving.signal)] as Promise<RouteCall>[];
    expect(table.retryAfterSeconds('m', 'account')).toBe(18);
    leaving.abort(new Error('left'));
    await expect(Promise.all(waits)).rejects.toThrow('left');
    running.route.statistics.durationMs = 600_000;
    expect(table.retryAfterSeconds('m', 'account')).toBe(60);
  });

  test('and of a line that gives up waiting, no longer than it does', async () => {
    const { take, ask, table } = setUp({ m: [{}] }, { queueWaitMs: 2_000 });
    const leaving = new AbortController();
    take().route.statistics.durationMs = 6_000;
    const waits = [ask('m', [], leaving.signal), ask('m', [], leaving.signal)] as Promise<RouteCall>[];
    expect(table.retryAfterSeconds('m', 'account')).toBe(8);
    leaving.abort(new Error('left'));
    await expect(Promise.all(waits)).rejects.toThrow('left');
  });

  test('a model nobody knows says nothing', () => {
    expect(setUp({ m: [{}] }).table.retryAfterSeconds('unknown', 'account')).toBeUndefined();
  });
});

test('an upstream that breaks a limit with every reply rests like one that fails', () => {
  const { take, ask } = setUp({ m: [{}] }, { queueMax: 0 });
  for (let call = 0; call < 5; call++) take().end(failed({ kind: 'limit' }));
  expect(() => ask()).toThrow(refusal('model_unavailable'));
});

describe('the budget for second calls', () => {
  const wide = (id: string) => upstreamNamed(id, { connectionsMax: 99 });
  const TWO = { m: [{}, { upstream: 'b', priority: 1 }] };
  const setUpTwo = (terms: Partial<RoutingOptions>, models: Parameters<typeof setUp>[0] = TWO) => {
    const registry = new Registry();
    const it = setUp(models, { queueMax: 0, retryPercent: 0, ...terms }, [wide('a'), wide('b')], registry);
    const second = (model = 'm', failedOn = it.take(model)): 'made' | 'none' => {
      try {
        it.take(model, [failedOn]);
        return 'made';
      } catch {
        return 'none';
      }
    };
    const counted = async (): Promise<unknown[]> => {
      const { values } = (await registry.getSingleMetric('tollgate_model_retries_total')?.get()) ?? { values: [] };
      return values.map(({ labels, value }) => [labels.outcome, value]);
    };
    return { ...it, second, counted };
  };

  test('is for each model', () => {
    const { second } = setUpTwo({ retryBurst: 1 }, { ...TWO, n: TWO.m });
    expect([second('m'), second('m'), second('n')]).toEqual(['made', 'none', 'made']);
  });

  test('gets its share from a request once, however often that asks for a route', () => {
    const { ask, second, take } = setUpTwo({ retryBurst: 1, retryPercent: 100 });
    const failedOn = take();
    expect(second('m', failedOn)).toBe('made');
    expect(second('m', failedOn)).toBe('none');
    void ask('m');
    expect(second('m', failedOn)).toBe('made');
  });

  test('pays for a second call on the same route as well, after an idle connection that was closed', () => {
    const { ask } = setUpTwo({ retryBurst: 1 });
    const again = () => ask('m', [], new AbortController().signal, false);
    void again();
    expect(again).toThrow(refusal('model_unavailable'));
  });

  test('is not spent where the other route rests, or there is none: it is there when one is up', async () => {
    const { take, second, counted } = setUpTwo({ retryBurst: 2 });
    const onA = take();
    const onB = take('m', [onA]);
    onB.end(failed({ retryAfterSeconds: 60 }));
    expect([second('m', onA), second('m', onA)]).toEqual(['none', 'none']);
    expect(await counted()).toEqual([
      ['made', 1],
      ['over-budget', 0],
    ]);
  });
});

test('a model without a route is told among those without, for as long as it has none', () => {
  const { table, apply } = setUp({ m: [] });
  expect(table.status('here')).toMatchObject({ routes: [], withoutRoute: ['m'] });
  apply({ m: [{}] });
  expect(table.status('here').withoutRoute).toBeUndefined();
});
