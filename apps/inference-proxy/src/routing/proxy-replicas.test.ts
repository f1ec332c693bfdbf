import { jest } from '@jest/globals';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { testTable, upstreamNamed } from '../../test/routing-fixture.js';
import { ProxyReplicas } from './proxy-replicas.js';
import type { RouteCall } from './route-state.js';
import type { RouteTable } from './route-table.js';

const LIMIT = 10;

beforeEach(() => {
  jest.useFakeTimers();
});
const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  jest.useRealTimers();
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** A replica with one route of `LIMIT` calls. Those of one `messaging` hear one another at once. */
class Replica {
  readonly replicas: ProxyReplicas;
  readonly running: RouteCall[] = [];
  private readonly table: RouteTable = testTable();

  constructor(messaging: FakeMessaging) {
    const route = { upstream: 'a', model: 'theirs', weight: 1, priority: 0, concurrencyMax: LIMIT };
    this.table.apply({ revision: 1, upstreams: [upstreamNamed('a', { connectionsMax: 999 })], models: [{ id: 'm', routes: [route] }] });
    this.replicas = new ProxyReplicas(messaging, this.table);
    this.replicas.start();
    cleanUps.push(() => {
      this.replicas.stop();
      return this.table.close();
    });
  }

  get places(): number | null | undefined {
    return this.table.status('here').routes[0]?.concurrencyMax;
  }

  /** Starts calls of different accounts until one is refused. */
  takeAll(): this {
    const request = { model: 'm', turns: [], tools: [], output: { kind: 'text' as const }, stream: true, hints: {} };
    const asked = { request, tried: new Set(), isFirst: true };
    try {
      for (;;) {
        const accountId = `account ${this.running.length}`;
        this.running.push(this.table.acquire({ ...asked, accountId }, new AbortController().signal) as RouteCall);
      }
    } catch (error) {
      expect(error).toMatchObject({ code: 'model_capacity' });
      return this;
    }
  }

  end(calls: number): this {
    for (const call of this.running.splice(0, calls)) call.end({ outcome: 'completed', failure: undefined, usage: undefined });
    return this;
  }
}

const joined = (): void => jest.advanceTimersByTime(500);
const places = (...replicas: Replica[]) => replicas.map((replica) => replica.places);

test('the first replica has the whole limit once no other has answered', () => {
  const only = new Replica(new FakeMessaging());
  expect(only.places).toBe(0);
  joined();
  expect(only.places).toBe(LIMIT);
});

test('replicas have equal shares, and a new one takes its share when the others have heard of it', () => {
  const messaging = new FakeMessaging();
  const first = new Replica(messaging);
  joined();
  const second = new Replica(messaging);
  expect(places(first, second)).toEqual([5, 0]);
  joined();
  expect(places(first, second)).toEqual([5, 5]);
});

test('a new replica leaves free what the others have in flight beyond their shares, until those calls have ended', () => {
  const messaging = new FakeMessaging();
  const first = new Replica(messaging);
  joined();
  first.takeAll();
  const second = new Replica(messaging);
  joined();
  expect(first.running.length + second.takeAll().running.length).toBe(LIMIT);
  first.end(3).takeAll();
  jest.advanceTimersByTime(1_000);
  expect([first.running.length, second.takeAll().running.length]).toEqual([7, 3]);
  first.end(7).takeAll();
  jest.advanceTimersByTime(1_000);
  expect([first.running.length, second.takeAll().running.length]).toEqual([5, 5]);
});

test('the share of a replica that is gone returns after three seconds', () => {
  const messaging = new FakeMessaging();
  const first = new Replica(messaging);
  const second = new Replica(messaging);
  joined();
  second.replicas.stop();
  jest.advanceTimersByTime(2_000);
  expect(first.places).toBe(5);
  jest.advanceTimersByTime(2_000);
  expect(first.places).toBe(LIMIT);
});

test('a replica that could not announce itself joins again, since the others may have taken its share', () => {
  const messaging = new FakeMessaging();
  const first = new Replica(messaging);
  joined();
  messaging.connected = false;
  jest.advanceTimersByTime(10_000);
  expect(first.places).toBe(LIMIT);
  messaging.connected = true;
  messaging.reconnect();
  expect(first.places).toBe(0);
  joined();
  expect(first.places).toBe(LIMIT);
});

test('a short loss of the connection changes nothing', () => {
  const messaging = new FakeMessaging();
  const replicas = [new Replica(messaging), new Replica(messaging)];
  joined();
  messaging.connected = false;
  jest.advanceTimersByTime(1_000);
  messaging.connected = true;
  messaging.reconnect();
  expect(places(...replicas)).toEqual([5, 5]);
});
