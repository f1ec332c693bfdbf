import { Registry } from 'prom-client';
import type { Route, Upstream } from '#contracts/catalog.js';
import type { ToolChoice } from '#inference/tool.js';
import { testTable, upstreamNamed } from '../../test/routing-fixture.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { CallEnd } from '../metrics/route-metrics.js';
import type { RouteCall } from './route-state.js';
import type { RouteTable, RoutingOptions } from './route-table.js';

const DONE: CallEnd = { outcome: 'completed', failure: undefined, usage: undefined };

const tables: RouteTable[] = [];
afterEach(async () => {
  for (const table of tables.splice(0)) await table.close();
});

/** Models with their routes; every upstream they name has one socket, unless `upstreams` says otherwise. */
function setUp(
  models: Record<string, Partial<Route>[]>,
  options: Partial<RoutingOptions> = {},
  upstreams: Upstream[] = [],
  registry = new Registry(),
) {
  const table = testTable({ queueMax: 9, queueWaitMs: 60_000, cooldownMs: 3_000, ...options }, registry);
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
  const ask = (
    model = 'm',
    tried: RouteCall[] = [],
    signal = new AbortController().signal,
    isFirst = tried.length === 0,
    toolChoice?: ToolChoice,
  ) => {
    const request = { model, turns: [], tools: [], toolChoice, output: { kind: 'text' as const }, stream: true, hints: {} };
    return table.acquire({ request, accountId, tried: new Set(tried.map(({ route }) => route)), isFirst }, signal);
  };
  /** Takes a call that need not wait. */
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

test('a route takes as many calls as its cap allows, and no more than its upstream has room for', () => {
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
});

test('waiting requests get the next room in order of arrival, for any model on the upstream', async () => {
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

test('a request that has tried a route does not hold up one that can use it', async () => {
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

test('a request that forces a call does not hold up one that can use a route without forced calls', async () => {
  const unforced = upstreamNamed('a');
  const { take, ask } = setUp({ m: [{ upstream: 'a' }, { upstream: 'b', priority: 1 }] }, {}, [
    { ...unforced, capabilities: { ...unforced.capabilities, toolChoice: 'auto' } },
  ]);
  const [onA, onB] = [take(), take()];
  const forced = ask('m', [], undefined, true, { kind: 'required' });
  const free = ask('m');
  onA.end(DONE);
  expect((await free).route).toBe(onA.route);
  onB.end(DONE);
  expect((await forced).route).toBe(onB.route);
});

test('Retry-After of the only route ends the wait, and refuses new requests', async () => {
  const { take, ask } = setUp({ m: [{}] }, {}, [upstreamNamed('a', { connectionsMax: 2 })]);
  const [first, second] = [take(), take()];
  const waiting = ask();
  first.end(failed({ code: 'model_unavailable', retryAfterSeconds: 9 }));
  await expect(waiting).rejects.toEqual(refusal('model_unavailable'));
  expect(() => ask()).toThrow(refusal('model_unavailable'));
  second.end(DONE);
});

describe('when the circuits of all routes are open', () => {
  const wide = ['a', 'b'].map((id) => upstreamNamed(id, { connectionsMax: 9 }));
  const TWO = { m: [{}, { upstream: 'b' }] };
  const openAll = (it: ReturnType<typeof setUp>, end: CallEnd, times = 10): void => {
    for (let call = 0; call < times; call++) it.take().end(end);
  };

  test('every request is called on one of them', () => {
    const it = setUp(TWO, {}, wide);
    openAll(it, failed({ kind: 'unreachable' }));
    const states = it.table.status('here').routes.map(({ circuit }) => circuit);
    for (let call = 0; call < 5; call++) it.take();
    expect(states).toEqual(['open', 'open']);
  });

  test('the caps hold', () => {
    const it = setUp(TWO, { queueMax: 0 });
    openAll(it, failed({ kind: 'unreachable' }));
    it.take();
    it.take();
    expect(() => it.ask()).toThrow(refusal('model_capacity'));
  });

  test('Retry-After holds', () => {
    const it = setUp({ m: [{}] }, {}, wide);
    openAll(it, failed({ kind: 'refused' }), 5);
    it.take().end(failed({ code: 'model_capacity', retryAfterSeconds: 30 }));
    expect(() => it.ask()).toThrow(refusal('model_capacity'));
  });

  test('a request is not called where it would wait in vain: on a route that times out', () => {
    const it = setUp(TWO, {}, wide);
    openAll(it, failed({ kind: 'timeout', code: 'upstream_timeout' }));
    expect(() => it.ask()).toThrow(refusal('model_unavailable'));
    expect(it.table.retryAfterSeconds('m', 'account')).toBe(3);
  });

  test('a retry is called too, if the budget allows it', () => {
    const it = setUp(TWO, { retryBurst: 1, retryPercent: 0 }, wide);
    openAll(it, failed({ kind: 'unreachable' }));
    const first = it.take();
    expect(it.take('m', [first]).route).not.toBe(first.route);
    expect(() => it.ask('m', [first])).toThrow(refusal('model_unavailable'));
  });
});

test('a new catalog serves waiting requests, and refuses those of a model that it no longer has', async () => {
  const { take, ask, apply } = setUp({ m: [{}], n: [{}] });
  take();
  const [onM, onN] = [ask('m'), ask('n')];
  apply({ m: [{}, { upstream: 'b' }] });
  expect((await onM).route.client.upstream.id).toBe('b');
  await expect(onN).rejects.toEqual(refusal('model_unavailable'));
});

test('a route that stays in the catalog keeps its breaker, with its new weight', () => {
  const { take, apply } = setUp({ m: [{ weight: 1 }] });
  const call = take();
  call.end(failed());
  for (let more = 0; more < 4; more++) take().end(failed());
  apply({ m: [{ weight: 7 }, { upstream: 'b' }] });
  expect(call.route).toMatchObject({ breaker: { state: 'open' }, definition: { weight: 7 } });
  expect(take().route.client.upstream.id).toBe('b');
});

test('a failing route says nothing about another model on the same upstream', () => {
  const { take, table } = setUp({ m: [{}], n: [{}] });
  for (let call = 0; call < 5; call++) take('m').end(failed());
  expect(table.status('here').routes.map(({ circuit }) => circuit)).toEqual(['open', 'closed']);
});

describe('when to come back [H-4]', () => {
  test('as the upstream says', () => {
    const { take, ask, table } = setUp({ m: [{}] });
    take().end(failed({ code: 'model_capacity', retryAfterSeconds: 17 }));
    expect(() => ask()).toThrow(refusal('model_capacity'));
    expect(table.retryAfterSeconds('m', 'account')).toBe(17);
  });

  test('after the cooldown; the earliest of all routes counts', () => {
    const { take, table } = setUp({ m: [{ priority: 0 }, { upstream: 'b', priority: 1 }] }, { cooldownMs: 40_000 });
    take().end(failed({ code: 'model_unavailable', retryAfterSeconds: 60 }));
    expect(table.retryAfterSeconds('m', 'account')).toBe(1);
    for (let call = 0; call < 5; call++) take().end(failed({ kind: 'unreachable' }));
    expect(table.retryAfterSeconds('m', 'account')).toBe(40);
  });

  test('by the length of the calls and of the queue when all routes are full', async () => {
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

  test('by no more of the queue than queueWaitMs', async () => {
    const { take, ask, table } = setUp({ m: [{}] }, { queueWaitMs: 2_000 });
    const leaving = new AbortController();
    take().route.statistics.durationMs = 6_000;
    const waits = [ask('m', [], leaving.signal), ask('m', [], leaving.signal)] as Promise<RouteCall>[];
    expect(table.retryAfterSeconds('m', 'account')).toBe(8);
    leaving.abort(new Error('left'));
    await expect(Promise.all(waits)).rejects.toThrow('left');
  });

  test('an unknown model has no time', () => {
    expect(setUp({ m: [{}] }).table.retryAfterSeconds('unknown', 'account')).toBeUndefined();
  });
});

describe('the retry budget', () => {
  const wide = (id: string) => upstreamNamed(id, { connectionsMax: 99 });
  const TWO = { m: [{}, { upstream: 'b', priority: 1 }] };
  const setUpTwo = (options: Partial<RoutingOptions>, models: Parameters<typeof setUp>[0] = TWO) => {
    const registry = new Registry();
    const it = setUp(models, { queueMax: 0, retryPercent: 0, ...options }, [wide('a'), wide('b')], registry);
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

  test('gets its part of a request once, however often that asks for a route', () => {
    const { ask, second, take } = setUpTwo({ retryBurst: 1, retryPercent: 100 });
    const failedOn = take();
    expect(second('m', failedOn)).toBe('made');
    expect(second('m', failedOn)).toBe('none');
    void ask('m');
    expect(second('m', failedOn)).toBe('made');
  });

  test('pays for a retry on the same route as well, after an idle connection that was closed', () => {
    const { ask } = setUpTwo({ retryBurst: 1 });
    const again = () => ask('m', [], new AbortController().signal, false);
    void again();
    expect(again).toThrow(refusal('model_unavailable'));
  });

  test('is not spent when no other route may be called', async () => {
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

test('the status lists a model without routes for as long as it has none', () => {
  const { table, apply } = setUp({ m: [] });
  expect(table.status('here')).toMatchObject({ routes: [], withoutRoute: ['m'] });
  apply({ m: [{}] });
  expect(table.status('here').withoutRoute).toBeUndefined();
});
