import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Controller } from '@nestjs/common';
import { connect, type NatsConnection } from 'nats';
import { ServiceError } from '#contracts/service-error.js';
import { leastMs } from '#testing/least-ms.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { untilCollected } from '#testing/until-collected.js';
import { Connections, CountRequest, countUp, eventually, measure, serve, TextRequest } from '../testing/test-services.js';
import { EncodedJson } from './encoded-json.js';
import { WINDOW_BYTES, WINDOW_FRAMES } from './frames.js';
import { type CallContext, DETACHED, type EventStream } from './messaging.js';
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

  test('carries many events in order, faster than its window', async () => {
    const { caller } = await start(async function* (count) {
      for (let index = 1; index <= count; index++) {
        yield [index];
        if (index % 3 === 0) await turn();
      }
    });
    const events = (await collect(caller.openStream(countUp, { count: 5_000 }))).flat();
    expect(events).toEqual(Array.from({ length: 5_000 }, (_, index) => index + 1));
  });

  test('carries an event larger than a message', async () => {
    const large = Array.from({ length: 600_000 }, (_, index) => index);
    const { caller } = await start(async function* () {
      yield [0];
      await turn();
      yield large;
      yield large;
    });
    const events = (await collect(caller.openStream(countUp, { count: 1 }))).flat();
    expect(events.length).toBe(1_200_001);
    expect(events.at(-1)).toBe(599_999);
  });

  test('takes a request of 8 MB through a server that allows 1 MB', async () => {
    const { caller } = await start(async function* () {});
    const text = 'x'.repeat(8 * 1024 * 1024);
    expect(await collect(caller.openStream(measure, { text }))).toEqual([[8 * 1024 * 1024]]);
  });

  test.each([8, 8 * 1024 * 1024])('takes an encoded request of %d bytes, and reports when it was sent', async (length) => {
    const { caller } = await start(async function* () {});
    let sent = 0;
    const request = new EncodedJson(Buffer.from(JSON.stringify({ text: 'x'.repeat(length) })), () => sent++);
    expect([await collect(caller.openStream(measure, request)), sent]).toEqual([[[length]], 1]);
  });

  test('knows after its end whether the process of its reader is alive', async () => {
    let context: CallContext | undefined;
    const { caller } = await start(async function* (_count, own) {
      context = own;
      yield [1];
    });
    await collect(caller.openStream(countUp, { count: 1 }));
    expect(await context?.callerIsThere()).toBe(true);
    await caller.close();
    while ((await context?.callerIsThere()) !== false) await turn(); // the server notices after a moment
  });

  test('does not keep source and request alive through its context', async () => {
    const contexts: CallContext[] = [];
    let request: WeakRef<object> | undefined;
    const { caller } = await start((_count, context) => {
      contexts.push(context);
      const asked = { text: 'a large one' };
      request = new WeakRef(asked);
      return (async function* (of: typeof asked) {
        yield [of.text.length];
      })(asked);
    });
    expect(await collect(caller.openStream(countUp, { count: 1 }))).toEqual([[11]]);
    if (request === undefined) throw new Error('not served');
    await untilCollected(request);
    expect(await contexts[0]?.callerIsThere()).toBe(true);
  });

  test('returns the typed error of its source after earlier events', async () => {
    const { caller } = await start(async function* () {
      yield [1];
      throw new ServiceError('model_not_found', 'No such model.', 'model');
    });
    const batches: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const batch of caller.openStream(countUp, { count: 1 })) batches.push(batch);
    };
    await expect(read()).rejects.toEqual(new ServiceError('model_not_found', 'No such model.', 'model'));
    expect(batches).toEqual([[1]]);
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

describe('a cancel', () => {
  test('reaches the writer within 250 ms, and returns its last batch', async () => {
    let noticed: Promise<number> | undefined;
    const { caller } = await start(async function* (_count, { signal }) {
      noticed = aborted(signal);
      yield [1];
      await noticed;
      yield [99];
    });
    const cancel = async (): Promise<number> => {
      const stream = caller.openStream(countUp, { count: 1 });
      const batches: unknown[] = [];
      let cancelledAt = 0;
      for await (const batch of stream) {
        batches.push(batch);
        if (cancelledAt > 0) continue;
        cancelledAt = performance.now();
        stream.cancel();
        stream.cancel();
      }
      expect(batches).toEqual([[1], [99]]);
      return ((await noticed) ?? Number.NaN) - cancelledAt;
    };
    expect(await leastMs(250, cancel)).toBeLessThan(250);
  });

  test('before the first event reaches the writer within 250 ms', async () => {
    let noticed: Promise<number> | undefined;
    let begun = 0;
    const { caller } = await start(async function* (_count, { signal }) {
      begun += 1;
      noticed = aborted(signal);
      await noticed;
      yield [99];
    });
    const cancel = async (): Promise<number> => {
      const before = begun;
      const controller = new AbortController();
      const collected = collect(caller.openStream(countUp, { count: 1 }, { signal: controller.signal }));
      await eventually(() => begun > before);
      const cancelledAt = performance.now();
      controller.abort();
      expect(await collected).toEqual([[99]]);
      return ((await noticed) ?? Number.NaN) - cancelledAt;
    };
    expect(await leastMs(250, cancel)).toBeLessThan(250);
  });

  test.each([
    ['lets the work continue says so', { detach: true }, true],
    ['does not gives no reason', {}, false],
  ])('that %s to the writer', async (_name, options, isDetached) => {
    const reasons: unknown[] = [];
    const { caller } = await start(async function* (_count, { signal }) {
      await aborted(signal);
      reasons.push(signal.reason);
      yield [1];
    });
    const stream = caller.openStream(countUp, { count: 1 });
    stream.cancel(options);
    expect(await collect(stream)).toEqual([[1]]);
    expect(reasons.map((reason) => reason === DETACHED)).toEqual([isDetached]);
  });

  test('by leaving the loop reaches the writer', async () => {
    let noticed: Promise<number> | undefined;
    const { caller } = await start(async function* (_count, { signal }) {
      noticed = aborted(signal);
      yield [1];
      await noticed;
    });
    const leave = async (): Promise<number> => {
      for await (const _batch of caller.openStream(countUp, { count: 1 })) break;
      const leftAt = performance.now();
      return ((await noticed) ?? Number.NaN) - leftAt;
    };
    expect(await leastMs(250, leave)).toBeLessThan(250);
  });

  test('that the source ignores ends after the grace', async () => {
    let left = false;
    const { caller } = await start(() => ({
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => undefined),
        return: () => {
          left = true;
          return new Promise<never>(() => undefined);
        },
      }),
    }));
    const cancel = async (): Promise<number> => {
      const stream = caller.openStream(countUp, { count: 1 });
      const startedAt = performance.now();
      stream.cancel();
      await expect(collect(stream)).rejects.toThrow();
      return performance.now() - startedAt;
    };
    expect(await leastMs(2_000, cancel)).toBeLessThan(2_000);
    await eventually(() => left);
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

describe('shutdown', () => {
  test('lets a stream finish within the grace', async () => {
    const { app, caller } = await start(async function* () {
      yield [1];
      await new Promise((resolve) => setTimeout(resolve, 200));
      yield [2];
    });
    const iterator = caller.openStream(countUp, { count: 1 })[Symbol.asyncIterator]();
    await iterator.next();
    const closed = app.close();
    expect(await iterator.next()).toEqual({ done: false, value: [2] });
    await closed;
  });

  test('cancels a stream after the grace, and fails its reader', async () => {
    const { app, caller } = await start(async function* () {
      yield [1];
      await new Promise(() => undefined);
    });
    const iterator = caller.openStream(countUp, { count: 1 })[Symbol.asyncIterator]();
    await iterator.next();
    const failed = expect(iterator.next()).rejects.toEqual(new ServiceError('unavailable', 'The stream was cut off.'));
    await app.close();
    await failed;
  });
});
