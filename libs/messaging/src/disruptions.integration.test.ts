import { setTimeout as delay } from 'node:timers/promises';
import { Controller } from '@nestjs/common';
import { connect, type NatsConnection } from 'nats';
import { startNatsCluster, startNatsServer, type TestNatsCluster, type TestNatsServer } from '#testing/nats-server.js';
import { TcpLink } from '#testing/tcp-link.js';
import { Connections, CountRequest, countUp, double, eventually, serve, square } from '../testing/test-services.js';
import type { CallContext, EventStream } from './messaging.js';
import type { NatsMessaging } from './nats-messaging.js';
import { Serves } from './serves.js';

const connections = new Connections(() => '');

afterEach(() => connections.closeAll());

/** Counts one number every 10 ms. */
@Controller()
class Counter {
  static readonly running: CallContext[] = [];

  @Serves(countUp) async *count({ count }: CountRequest, context: CallContext): AsyncIterable<readonly number[]> {
    Counter.running.push(context);
    for (let number = 1; number <= count; number++) {
      await delay(10);
      yield [number];
    }
  }

  @Serves(square) async square({ count }: CountRequest): Promise<{ squared: number }> {
    await delay(100);
    return { squared: count * count };
  }

  @Serves(double) async double({ count }: CountRequest): Promise<{ doubled: number }> {
    await delay(1_500);
    return { doubled: 2 * count };
  }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

async function collect<Event>(stream: EventStream<Event>): Promise<{ events: Event[]; gapMs: number }> {
  const events: Event[] = [];
  let gapMs = 0;
  let lastAt = performance.now();
  for await (const batch of stream) {
    events.push(...batch);
    gapMs = Math.max(gapMs, performance.now() - lastAt);
    lastAt = performance.now();
  }
  return { events, gapMs };
}

describe('in a cluster', () => {
  let cluster: TestNatsCluster;
  let isAsking = false;

  beforeAll(async () => {
    cluster = await startNatsCluster(2);
  });
  afterEach(async () => {
    isAsking = false;
    await connections.closeAll();
    await cluster.servers[0]?.restart();
    await cluster.whole();
  });
  afterAll(() => cluster.stop());

  const STREAMS = 20;
  const COUNT = 300;
  const GAP_MS = 2_000;

  /** A service on one server, and its caller on another. */
  async function start(readerAt: number, writerAt: number): Promise<{ caller: NatsMessaging; service: NatsMessaging }> {
    const at = (index: number) => ({ url: cluster.servers[index]?.url ?? '' });
    const service = await connections.connect('test', at(writerAt));
    await serve(service, [Counter]);
    const caller = await connections.connect('caller', at(readerAt));
    while ((await caller.request(square, { count: 2 }).catch(() => undefined)) === undefined) await delay(10);
    return { caller, service };
  }

  /** Drains the first server. Kills it when no process uses it any more. */
  async function drain(processes: NatsMessaging[]): Promise<void> {
    const [server] = cluster.servers;
    const leaving = processes.map(({ link }) => link.connection).filter((one) => server?.url.endsWith(one.getServer()));
    server?.drain();
    await eventually(() => leaving.every((connection) => connection.isClosed()));
    await server?.kill();
  }

  /** Asks one request after the other while `isAsking`. Returns the wrong answers. */
  async function ask(caller: NatsMessaging): Promise<unknown[]> {
    const wrong: unknown[] = [];
    isAsking = true;
    for (let count = 1; isAsking; count++) {
      const answer = await caller.request(square, { count }).catch((error) => error);
      if (answer.squared !== count * count) wrong.push(answer);
    }
    return wrong;
  }

  describe.each(['drains', 'is killed'] as const)('a server that %s', (what) => {
    test.each([
      ['the reader', 0, 1],
      ['the writer', 1, 0],
      ['both ends', 0, 0],
    ])('with %s breaks no stream and no repeatable request', async (_name, readerAt, writerAt) => {
      const { caller, service } = await start(readerAt, writerAt);
      let reconnects = 0;
      for (const one of [caller, service]) one.onReconnect(() => reconnects++);
      const streams = Promise.all(numbers(STREAMS).map(() => collect(caller.openStream(countUp, { count: COUNT }))));
      const requests = ask(caller);
      await delay(500);
      if (what === 'drains') await drain([caller, service]);
      else await cluster.servers[0]?.kill();
      const read = await streams;
      const late = await collect(caller.openStream(countUp, { count: 3 }));
      isAsking = false;
      expect([...read, late].map(({ events }) => events)).toEqual([...Array(STREAMS).fill(numbers(COUNT)), numbers(3)]);
      expect(Math.max(...read.map(({ gapMs }) => gapMs))).toBeLessThan(GAP_MS);
      expect(await requests).toEqual([]);
      const lost = [readerAt, writerAt].filter((at) => at === 0).length;
      expect(reconnects).toBe(what === 'drains' ? 0 : lost);
    });
  });

  test('a server that drains hands over requests under way', async () => {
    const { caller, service } = await start(1, 0);
    const pending = caller.request(double, { count: 7 });
    await drain([caller, service]);
    expect(await pending).toEqual({ doubled: 14 });
  });
});

describe('with one server', () => {
  let server: TestNatsServer;

  beforeAll(async () => {
    server = await startNatsServer();
  });
  afterAll(() => server.stop());

  async function start(resumeMs?: number) {
    const options = { url: server.url, ...(resumeMs === undefined ? {} : { resumeMs }) };
    const service = await connections.connect('test', options);
    await serve(service, [Counter]);
    return { service, caller: await connections.connect('caller', options) };
  }

  test('streams, repeatable requests and new requests outlive its restart; others break', async () => {
    const { caller } = await start();
    const stream = collect(caller.openStream(countUp, { count: 100 }));
    const repeatable = caller.request(square, { count: 3 });
    const other = caller.request(double, { count: 3 }).catch(({ kind }) => kind);
    await caller.link.connection.flush();
    await server.kill();
    await eventually(() => !caller.connected);
    const later = [caller.request(square, { count: 4 }), caller.request(double, { count: 4 })];
    await server.restart();
    expect((await stream).events).toEqual(numbers(100));
    expect([await repeatable, await other, ...(await Promise.all(later))]).toEqual([
      { squared: 9 },
      'broken',
      { squared: 16 },
      { doubled: 8 },
    ]);
  });

  test.each(['test', 'caller'])('streams outlive a reset of the connection of %s alone', async (which) => {
    const link = await TcpLink.to(Number(new URL(server.url).port));
    const makeUrl = (name: string): string => (name === which ? `nats://127.0.0.1:${link.port}` : server.url);
    await serve(await connections.connect('test', { url: makeUrl('test') }), [Counter]);
    const caller = await connections.connect('caller', { url: makeUrl('caller') });
    const streams = Promise.all(numbers(5).map(() => collect(caller.openStream(countUp, { count: 100 }))));
    await delay(300);
    link.reset();
    expect((await streams).map(({ events }) => events)).toEqual(Array(5).fill(numbers(100)));
    await connections.closeAll();
    link.close();
  });

  test('a stream, a request and a new request fail when it is away for longer than the bound', async () => {
    const { caller } = await start(300);
    const catchKind = (call: Promise<unknown>): Promise<unknown> => call.catch(({ kind }) => kind);
    const before = Counter.running.length;
    const outcomes = [catchKind(collect(caller.openStream(countUp, { count: 1_000 }))), catchKind(caller.request(square, { count: 3 }))];
    await eventually(() => Counter.running.length > before);
    const { signal } = Counter.running.at(-1) as CallContext;
    await server.kill();
    await eventually(() => !caller.connected);
    outcomes.push(catchKind(caller.request(square, { count: 4 })));
    expect(await Promise.all(outcomes)).toEqual(['broken', 'broken', 'unavailable']);
    expect(await catchKind(caller.request(square, { count: 5 }))).toBe('unavailable');
    await eventually(() => signal.aborted);
    await server.restart();
  });
});

describe('on the wire', () => {
  let server: TestNatsServer;
  let raw: NatsConnection;

  beforeAll(async () => {
    server = await startNatsServer();
  });
  beforeEach(async () => {
    raw = await connect({ servers: server.url, reconnect: false });
  });
  afterEach(() => raw.close());
  afterAll(() => server.stop());

  /** Serves `countUp` with a writer that sends `frames`, and after each message of the reader what `answer` returns for it. */
  async function writer(frames: string[], answer: (control: string) => string[] = () => []) {
    const controls: string[] = [];
    let reader = '';
    const send = (frame: string): void => raw.publish(reader, frame, { reply: '_INBOX.writer' });
    raw.subscribe('_INBOX.writer', {
      callback: (_error, message) => {
        controls.push(message.string());
        answer(message.string()).forEach(send);
      },
    });
    raw.subscribe(countUp.subject, {
      callback: (_error, message) => {
        reader = message.reply ?? '';
        frames.forEach(send);
      },
    });
    await raw.flush();
    return controls;
  }

  test('a reader asks once for what it has missed, and drops what comes twice', async () => {
    const controls = await writer(['E1\n[1]', 'E1\n[1]', 'E3\n[3]', 'E4\n[4]'], (control) =>
      control === 'R1' ? ['E2\n[2]', 'E3\n[3]', 'E2\n[2]', 'L4\n[4]'] : [],
    );
    const caller = await connections.connect('caller', { url: server.url });
    expect((await collect(caller.openStream(countUp, { count: 4 }))).events).toEqual([1, 2, 3, 4]);
    expect(controls).toEqual(['R1']);
  });

  test('the request of a stream that was lost is sent again, and its first run is stopped', async () => {
    const readers: string[] = [];
    const controls: string[] = [];
    raw.subscribe(countUp.subject, { callback: (_error, message) => readers.push(message.reply ?? '') });
    raw.subscribe('_INBOX.first', { callback: (_error, message) => controls.push(message.string()) });
    await raw.flush();
    const link = await TcpLink.to(Number(new URL(server.url).port));
    const caller = await connections.connect('caller', { url: `nats://127.0.0.1:${link.port}` });
    const stream = collect(caller.openStream(countUp, { count: 1 }));
    await eventually(() => readers.length === 1);
    link.reset();
    await eventually(() => readers.length === 2);
    const [first = '', second = ''] = readers;
    raw.publish(first, 'E1\n[7]', { reply: '_INBOX.first' });
    raw.publish(second, 'L1\n[1]');
    expect((await stream).events).toEqual([1]);
    await eventually(() => controls.length > 0);
    expect(controls).toEqual(['S']);
    await connections.closeAll();
    link.close();
  });

  test('a reader that misses frames for longer than the bound breaks', async () => {
    await writer(['E1\n[1]', 'E3\n[3]']);
    const caller = await connections.connect('caller', { url: server.url, resumeMs: 500 });
    await expect(collect(caller.openStream(countUp, { count: 3 }))).rejects.toMatchObject({
      kind: 'broken',
      message: 'Frame 2 of test.v1.count.up was lost.',
    });
  });

  test('a writer sends again what was not consumed, also after its end', async () => {
    await serve(await connections.connect('test', { url: server.url }), [Counter]);
    const frames: string[] = [];
    let subject = '';
    raw.subscribe('_INBOX.reader', {
      callback: (_error, message) => {
        frames.push(message.string());
        subject = message.reply || subject;
      },
    });
    raw.publish(countUp.subject, '{"count":3}', { reply: '_INBOX.reader' });
    await eventually(() => frames.at(-1)?.startsWith('L') ?? false);
    const sent = frames.splice(0);
    expect(sent.filter((frame) => !frame.startsWith('H'))).toEqual(['E1\n[1]', 'E2\n[2]', 'L3\n[3]']);
    raw.publish(subject, 'R1');
    await eventually(() => frames.length === 2);
    expect(frames).toEqual(['E2\n[2]', 'L3\n[3]']);
  });
});
