import { Controller } from '@nestjs/common';
import { ServiceError } from '#contracts/service-error.js';
import { leastMs } from '#testing/least-ms.js';
import { startNatsServer, type TestNatsServer } from '#testing/nats-server.js';
import { untilCollected } from '#testing/until-collected.js';
import { Connections, CountRequest, countUp, eventually, LAYOUTS, measure, TextRequest } from '../testing/test-services.js';
import { EncodedJson } from './encoded-json.js';
import { type CallContext, DETACHED, type EventStream } from './messaging.js';
import { Serves } from './serves.js';

let server: TestNatsServer;
const connections = new Connections(() => server.url);

beforeAll(async () => {
  server = await startNatsServer();
});

afterEach(() => connections.closeAll());

afterAll(() => server.stop());

type Source = (count: number, context: CallContext) => AsyncIterable<readonly number[]>;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Resolves with the time at which `signal` aborted. */
const aborted = (signal: AbortSignal): Promise<number> =>
  new Promise((resolve) => {
    const abort = (): void => resolve(performance.now());
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });

async function collect<Event>(stream: EventStream<Event>): Promise<(readonly Event[])[]> {
  const batches: (readonly Event[])[] = [];
  for await (const batch of stream) batches.push(batch);
  return batches;
}

describe.each(LAYOUTS)('%s', (layout) => {
  /** Serves `countUp` from `source`, and connects a caller. */
  function start(source: Source) {
    @Controller()
    class Counter {
      @Serves(countUp) count({ count }: CountRequest, context: CallContext): AsyncIterable<readonly number[]> {
        return source(count, context);
      }

      @Serves(measure) async *measure({ text }: TextRequest): AsyncIterable<readonly number[]> {
        yield [text.length];
      }
    }
    return connections.startPair(layout, [Counter]);
  }

  describe('a stream', () => {
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

    test('knows after its end whether its reader is alive', async () => {
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

    test('of the reader cancels a stream that still runs', async () => {
      let signal: AbortSignal | undefined;
      const { caller } = await start(async function* (_count, context) {
        signal = context.signal;
        yield [1];
        await aborted(context.signal);
      });
      await caller.openStream(countUp, { count: 1 })[Symbol.asyncIterator]().next();
      await caller.close();
      await eventually(() => signal?.aborted === true);
    });
  });
});
