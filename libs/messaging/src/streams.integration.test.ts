import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Controller } from '@nestjs/common';
import { connect, type NatsConnection } from 'nats';
import { ServiceError } from '#contracts/service-error.js';
import { leastMs } from '#testing/least-ms.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { Connections, CountRequest, countUp, eventually, measure, serve, TextRequest } from '../testing/test-services.js';
import { WINDOW_BYTES, WINDOW_FRAMES } from './frames.js';
import { type CallContext, type EventStream } from './messaging.js';
import { Serves } from './serves.js';

let server: TestNatsServer;
let raw: NatsConnection;
const children: ChildProcess[] = [];
const connections = new Connections(() => server.url);

beforeAll(async () => {
  server = await startNatsServer();
});

beforeEach(async () => {
  raw = await connect({ servers: server.url, reconnect: false });
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await connections.closeAll();
  await raw.close();
});

afterAll(() => server.stop());

type Source = (count: number, context: CallContext) => AsyncIterable<readonly number[]>;

/** Serves `countUp` from `source`, and connects a caller. */
async function start(source: Source, options: { resumeMs?: number } = {}) {
  @Controller()
  class Counter {
    @Serves(countUp) count({ count }: CountRequest, context: CallContext): AsyncIterable<readonly number[]> {
      return source(count, context);
    }

    @Serves(measure) async *measure({ text }: TextRequest): AsyncIterable<readonly number[]> {
      yield [text.length];
    }
  }
  const service = await connections.connect('test', options);
  const app = await serve(service, [Counter]);
  return { app, service, caller: await connections.connect('caller', options) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Resolves with the time at which `signal` aborted. */
const aborted = (signal: AbortSignal): Promise<number> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(performance.now())));

async function collect<Event>(stream: EventStream<Event>): Promise<(readonly Event[])[]> {
  const batches: (readonly Event[])[] = [];
  for await (const batch of stream) batches.push(batch);
  return batches;
}

describe('a stream', () => {
  test('of one batch is two messages in all', async () => {
    const { caller, service } = await start(async function* () {
      yield [1, 2, 3];
    });
    await Promise.all([caller.link.connection.flush(), service.link.connection.flush()]);
    const before = [caller, service].map(({ link }) => link.connection.stats().outMsgs);
    expect(await collect(caller.openStream(countUp, { count: 3 }))).toEqual([[1, 2, 3]]);
    expect([caller, service].map(({ link }, index) => link.connection.stats().outMsgs - (before[index] ?? 0))).toEqual([1, 1]);
  });

  test('merges what is yielded in one turn of the event loop', async () => {
    const { caller } = await start(async function* () {
      yield [1];
      yield [2];
      await turn();
      yield [3];
      yield [];
      yield [4];
    });
    expect((await collect(caller.openStream(countUp, { count: 4 }))).flat()).toEqual([1, 2, 3, 4]);
    const messages = raw.subscribe('_INBOX.frames', { max: 2 });
    raw.publish(countUp.subject, '{"count":4}', { reply: '_INBOX.frames' });
    const frames: string[] = [];
    for await (const message of messages) frames.push(message.string());
    expect(frames).toEqual(['E1\n[1,2]', 'L2\n[3,4]']);
  });

  test('lacks credit while its reader takes nothing, and is counted until it ends', async () => {
    const { caller, service } = await start(async function* (count) {
      for (let number = 0; number < count; number++) {
        yield [number];
        await turn();
      }
    });
    const counts = () => [caller, service].map(({ link }) => link.inbox.counts());
    const none = { call: 0, reader: 0, writer: 0, withoutCredit: 0 };
    const stream = caller.openStream(countUp, { count: 2 * WINDOW_FRAMES });
    await eventually(() => service.link.inbox.counts().withoutCredit === 1);
    expect(counts()).toEqual([
      { ...none, reader: 1 },
      { ...none, writer: 1, withoutCredit: 1 },
    ]);
    await collect(stream);
    expect(counts()).toEqual([none, none]);
  });

  test('fails when an event is not JSON, or the request breaks a rule', async () => {
    const { caller } = await start(async function* () {
      yield [1n as unknown as number];
    });
    await expect(collect(caller.openStream(countUp, { count: 1 }))).rejects.toMatchObject({ code: 'internal_error' });
    await expect(collect(caller.openStream(countUp, { count: -1 }))).rejects.toMatchObject({ code: 'invalid_request', param: 'count' });
  });

  test('without a listener fails at once', async () => {
    const caller = await connections.connect('caller');
    await expect(collect(caller.openStream(countUp, { count: 1 }))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('streams between the same two connections', () => {
  test('send what they yield in one turn of the event loop in one message, and end alone', async () => {
    const gate = Promise.withResolvers<void>();
    const { caller, service } = await start(async function* (count) {
      yield [count];
      await gate.promise;
      yield [count * 10];
      if (count === 3) throw new ServiceError('not_found', 'There is no three.');
      yield [count * 100];
    });
    const opened = [1, 2, 3, 4].map((count) => caller.openStream(countUp, { count })[Symbol.asyncIterator]());
    expect(await Promise.all(opened.map(async (stream) => (await stream.next()).value))).toEqual([[1], [2], [3], [4]]);
    await service.link.connection.flush();
    const sentBefore = service.link.connection.stats().outMsgs;
    gate.resolve();
    const rest = opened.map(async (stream) => {
      const events: number[] = [];
      try {
        for (let step = await stream.next(); !step.done; step = await stream.next()) events.push(...step.value);
        return events;
      } catch (error) {
        return [...events, error];
      }
    });
    expect(await Promise.all(rest)).toEqual([
      [10, 100],
      [20, 200],
      [30, new ServiceError('not_found', 'There is no three.')],
      [40, 400],
    ]);
    expect(service.link.connection.stats().outMsgs - sentBefore).toBe(1);
  });

  test('a larger turn is split into several messages, in order', async () => {
    const text = 'x'.repeat(3_000);
    const { caller } = await start(async function* (count) {
      for (let index = 0; index < count; index++) {
        yield [index, ...Buffer.from(text)];
        await turn();
      }
    });
    const streams = Array.from({ length: 40 }, () => collect(caller.openStream(countUp, { count: 5 })));
    const firsts = (await Promise.all(streams)).map((batches) => batches.flatMap((batch) => batch.filter((event) => event < 5)));
    expect(firsts).toEqual(Array(40).fill([0, 1, 2, 3, 4]));
  });
});

describe('back-pressure', () => {
  test('a reader that stops reading stops the writer, and memory stays bounded', async () => {
    let pulled = 0;
    const batch = Array.from({ length: 1_000 }, () => 1_000_000);
    const { caller } = await start(async function* (count) {
      for (; pulled < count; pulled++) {
        await turn();
        yield batch;
      }
    });
    const iterator = caller.openStream(countUp, { count: 2_000 })[Symbol.asyncIterator]();
    const batchBytes = JSON.stringify(batch).length;
    await iterator.next();
    const settled = async (): Promise<number> => {
      for (let before = -1; before !== pulled; ) {
        before = pulled;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      return pulled;
    };
    expect(await settled()).toBeLessThan(Math.min(WINDOW_FRAMES, WINDOW_BYTES / batchBytes) + 5);
    let events = batch.length;
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) events += step.value.length;
    expect(events).toBe(2_000 * batch.length);
  });

  test('keeps a slow but live reader', async () => {
    const { caller } = await start(async function* () {
      for (let index = 0; index < 12; index++) {
        await new Promise((resolve) => setTimeout(resolve, 500));
        yield [index];
      }
    });
    const stream = caller.openStream(countUp, { count: 1 });
    await new Promise((resolve) => setTimeout(resolve, 6_500));
    expect((await collect(stream)).flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });
});

describe('without resumption, a lost frame', () => {
  async function answeredWith(frames: string[]) {
    const controls: string[] = [];
    raw.subscribe('_INBOX.writer', { callback: (_error, message) => controls.push(message.string()) });
    raw.subscribe(countUp.subject, {
      callback: (_error, message) => {
        for (const frame of frames) raw.publish(message.reply ?? '', frame, { reply: '_INBOX.writer' });
      },
    });
    await raw.flush();
    const caller = await connections.connect('caller', { resumeMs: 0 });
    const batches: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const batch of caller.openStream(countUp, { count: 1 })) batches.push(...batch);
    };
    const failure: unknown = await read().catch((error) => error);
    await eventually(() => controls.length > 0);
    return { batches, failure, controls };
  }

  test.each([
    ['in the middle', ['E1\n[1]', 'E3\n[3]', 'L4\n[4]']],
    ['at the beginning', ['E2\n[2]']],
    ['noticed by a heartbeat', ['E1\n[1]', 'H2\n']],
    ['that is not one', ['E1\n[1]', '{"doubled":2}']],
    ['that is not JSON', ['E1\n[1]', 'E2\n[1']],
  ])('%s is an error, and stops the writer', async (_name, frames) => {
    const { batches, failure, controls } = await answeredWith(frames);
    expect(failure).toMatchObject({ name: 'MessagingError', kind: 'broken' });
    expect(batches).toEqual(frames[0] === 'E1\n[1]' ? [1] : []);
    expect(new Set(controls)).toEqual(new Set(['S']));
  });
});

test('a writer with a reply subject outside of an inbox is an error, and gets no message', async () => {
  const elsewhere: string[] = [];
  raw.subscribe('test.v1.event.changed', { callback: (_error, message) => elsewhere.push(message.string()) });
  raw.subscribe(countUp.subject, {
    callback: (_error, message) => raw.publish(message.reply ?? '', 'E1\n[1]', { reply: 'test.v1.event.changed' }),
  });
  await raw.flush();
  const caller = await connections.connect('caller');
  const read = async (): Promise<void> => {
    for await (const _batch of caller.openStream(countUp, { count: 1 }));
  };
  await expect(read()).rejects.toMatchObject({ kind: 'broken' });
  await Promise.all([caller.link.connection.flush(), raw.flush()]);
  expect(elsewhere).toEqual([]);
});

describe('a peer that dies', () => {
  /** Starts the other end in a process of its own. Resolves when it is ready. */
  async function peer(role: 'reader' | 'writer'): Promise<ChildProcess> {
    const here = (path: string): string => new URL(`../testing/${path}`, import.meta.url).pathname;
    const child = spawn(
      process.execPath,
      ['--import', here('../../testing/src/typescript-hooks.mjs'), here('stream-peer.ts'), role, server.url],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  test('as a reader, by SIGKILL, ends its writers within 2 s', async () => {
    const noticed: Promise<number>[] = [];
    await start(async function* (_count, { signal }) {
      const end = aborted(signal);
      noticed.push(end);
      yield [1];
      await end;
    });
    const kill = async (): Promise<number> => {
      const reader = await peer('reader');
      const killedAt = performance.now();
      reader.kill('SIGKILL');
      const ends = await Promise.all(noticed.splice(0));
      expect(ends).toHaveLength(3);
      return Math.max(...ends) - killedAt;
    };
    expect(await leastMs(2_000, kill)).toBeLessThan(2_000);
  });

  test('as a writer, by SIGKILL, fails the reader within 3 s', async () => {
    const caller = await connections.connect('caller');
    const kill = async (): Promise<number> => {
      const writer = await peer('writer');
      const iterator = caller.openStream(countUp, { count: 7 })[Symbol.asyncIterator]();
      expect(await iterator.next()).toEqual({ done: false, value: [7] });
      const killedAt = performance.now();
      writer.kill('SIGKILL');
      await expect(iterator.next()).rejects.toMatchObject({ kind: 'broken' });
      return performance.now() - killedAt;
    };
    expect(await leastMs(3_000, kill)).toBeLessThan(3_000);
  });

  test('as the server, without resumption fails both ends, and the next call works', async () => {
    let noticed: Promise<number> | undefined;
    const source: Source = async function* (count, { signal }) {
      noticed = aborted(signal);
      yield [count];
      if (count === 1) await noticed;
    };
    const { caller, service } = await start(source, { resumeMs: 0 });
    const iterator = caller.openStream(countUp, { count: 1 })[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: [1] });
    const failed = expect(iterator.next()).rejects.toMatchObject({ kind: 'broken' });
    await server.restart();
    await failed;
    await noticed;
    await eventually(() => caller.connected && service.connected);
    await service.link.connection.flush();
    expect(await collect(caller.openStream(countUp, { count: 2 }))).toEqual([[2]]);
  });
});
