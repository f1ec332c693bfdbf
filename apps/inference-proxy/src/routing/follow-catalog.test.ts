import { catalogChanged, type RouteListReply, routeList } from '#contracts/catalog.js';
import { createLogger } from '#observability/logger.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { testTable, upstreamNamed } from '../../test/routing-fixture.js';
import { followCatalog } from './follow-catalog.js';
import type { RouteCall } from './route-call.js';
import type { RouteTable } from './route-table.js';

function catalog(revision: number, routes: Record<string, string[]>): RouteListReply {
  const names = new Set(Object.values(routes).flat());
  return {
    revision,
    upstreams: [...names].map((id) => upstreamNamed(id)),
    models: Object.entries(routes).map(([id, upstreams]) => ({
      id,
      routes: upstreams.map((upstream) => ({ upstream, model: id, weight: 1, priority: 0 })),
    })),
  };
}

/** A call of a route that is free. */
function take(table: RouteTable, model: string): RouteCall {
  const request = { model, turns: [], tools: [], output: { kind: 'text' as const }, stream: true, hints: {} };
  return table.acquire(request, 'account', new Set(), new AbortController().signal) as RouteCall;
}

function setUp() {
  const messaging = new FakeMessaging();
  const table = testTable();
  const applied: number[] = [];
  const spied = Object.assign(Object.create(table) as RouteTable, {
    apply: (reply: RouteListReply) => {
      table.apply(reply);
      applied.push(reply.revision);
    },
  });
  const follow = (refreshMs = 60_000) => followCatalog(messaging, spied, refreshMs, createLogger('test', 'silent'));
  return { messaging, table, applied, follow };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

test('reads at once, on an announcement, after a reconnect and every so often', async () => {
  const { messaging, applied, follow, table } = setUp();
  let revision = 0;
  messaging.answer(routeList, () => catalog(++revision, { m: ['a'] }));
  const stop = follow(20);
  await until(() => applied.length === 1);
  messaging.publish(catalogChanged, { revision: 2 });
  await until(() => applied.length === 2);
  messaging.reconnect();
  await until(() => applied.length === 3);
  await until(() => applied.length >= 5); // by the clock
  stop();
  messaging.publish(catalogChanged, { revision: 99 });
  expect(applied).toEqual(applied.map((_, at) => at + 1));
  await table.close();
});

test('an announcement while reading makes it read again', async () => {
  const { messaging, applied, follow } = setUp();
  let answer: ((reply: RouteListReply) => void) | undefined;
  messaging.answer(routeList, () => new Promise<RouteListReply>((resolve) => (answer = resolve)));
  const stop = follow();
  await until(() => answer !== undefined);
  const first = answer;
  answer = undefined;
  messaging.publish(catalogChanged, { revision: 2 });
  first?.(catalog(1, { m: ['a'] }));
  await until(() => answer !== undefined);
  (answer as unknown as (reply: RouteListReply) => void)(catalog(2, { m: ['a'] }));
  await until(() => applied.length === 2);
  stop();
  expect(applied).toEqual([1, 2]);
});

test('while the catalog is away the known routes stand', async () => {
  const { messaging, applied, follow, table } = setUp();
  messaging.answer(routeList, () => catalog(1, { m: ['a'] }));
  const stop = follow(5);
  await until(() => applied.length === 1);
  messaging.answer(routeList, () => {
    throw new Error('away');
  });
  messaging.publish(catalogChanged, { revision: 2 });
  await new Promise(setImmediate);
  stop();
  expect(take(table, 'm').route.client.upstream.id).toBe('a');
});

test('an answer older than what is known changes no route', async () => {
  const { messaging, applied, follow, table } = setUp();
  let revision = 8;
  const asked: (number | undefined)[] = [];
  messaging.answer(routeList, ({ known }) => {
    asked.push(known);
    return catalog(revision, { m: ['a'] });
  });
  const stop = follow(5);
  await until(() => applied.length === 1);
  revision = 7;
  await until(() => asked.filter((known) => known === 8).length >= 3);
  revision = 9;
  await until(() => applied.includes(9));
  stop();
  expect(applied.filter((one, at) => one !== applied[at - 1])).toEqual([8, 9]);
  await table.close();
});

test('an unchanged upstream keeps its sockets and its count; others are replaced at once', () => {
  const table = testTable();
  table.apply(catalog(1, { m: ['a'], n: ['b'] }));
  const running = take(table, 'm');
  table.apply(catalog(2, { m: ['a'], o: ['c'] }));
  expect(() => take(table, 'm')).toThrow(expect.objectContaining({ code: 'model_capacity' }));
  expect(() => take(table, 'n')).toThrow(expect.objectContaining({ code: 'model_unavailable' }));
  expect(take(table, 'o').route.client.upstream.id).toBe('c');
  running.end({ outcome: 'completed', failure: undefined, usage: undefined });
  expect(take(table, 'm').route.client).toBe(running.route.client);
});
