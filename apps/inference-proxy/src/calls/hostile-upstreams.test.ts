import { UPSTREAM_KINDS, type Upstream } from '#contracts/catalog.js';
import { CONTENT, DIALECT_STREAMS, goodStream } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, flood, LAST_CHUNK, replyHead, send, wholeReply } from '#testing/fault-server.js';
import { longOr } from '#testing/long-run.js';
import { TRANSPORT_KINDS } from '../../test/transport-kinds.js';
import { type CallSetting, PATIENT, TestCalls, upstreamAt } from '../../test/upstream-calls.js';
import {
  contents,
  failedAfterHello,
  failure,
  fragments,
  framing,
  GOOD,
  large,
  type Row,
  received,
  slow,
  whole,
  writes,
} from '../../test/upstream-faults.js';

/** Runs every fault of test/upstream-faults.ts in every dialect; in `npm test`, those of the transport in `TRANSPORT_KINDS` alone. */

/** The dialects that wait for each timeout. */
const TIMED_KINDS = longOr<readonly Upstream['kind'][]>(['openai-chat'], UPSTREAM_KINDS);
/** The dialects that are asked for a plain reply without end: its limits are those of the transport. */
const PLAIN_KINDS = longOr<readonly Upstream['kind'][]>(['openai-chat'], UPSTREAM_KINDS);
/** Includes the garbage that the test itself makes. */
const MEMORY_MAX = 128 * 1024 * 1024;

let server: FaultServer;
beforeEach(async () => {
  server = await FaultServer.start();
});
afterEach(() => server.stop());

function callsTo(kind: (typeof UPSTREAM_KINDS)[number], timeouts = PATIENT): TestCalls {
  return new TestCalls(upstreamAt(`http://127.0.0.1:${server.port}/v1`, { kind, timeouts }));
}

/** Returns the largest growth of live objects and buffers while `work` ran. */
async function memoryWhile<Result>(work: () => Promise<Result>): Promise<{ result: Result; grown: number }> {
  const used = (): number => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, used())), 5);
  try {
    const result = await work();
    return { result, grown: Math.max(most, used()) - before };
  } finally {
    clearInterval(timer);
  }
}

describe.each(UPSTREAM_KINDS)('%s', (kind) => {
  async function check([, fault, outcome, timeouts]: Row, setting: CallSetting = {}): Promise<void> {
    server.behave(fault(fragments(kind)));
    const calls = callsTo(kind, timeouts);
    try {
      expect(await calls.collect(setting)).toEqual(outcome);
      // No upstream is called twice; a short timeout may end a call before its request arrives.
      expect(server.requests).toBeLessThanOrEqual(1);
    } finally {
      await calls.close();
    }
  }

  if (TIMED_KINDS.includes(kind)) {
    describe('takes its time', () => {
      test.each(slow)('%s', (...row) => check(row));
    });
  }

  if (TRANSPORT_KINDS.includes(kind)) {
    describe('breaks HTTP', () => {
      test.each(framing)('%s', (...row) => check(row));
    });
  }

  describe('sends something else', () => {
    test.each(contents)('%s', (...row) => check(row));
  });

  describe('sends too much, and memory stays within 128 MiB of 10 GiB sent [fault-memory]', () => {
    test.each(large)('%s', async (...row) => {
      const { grown } = await memoryWhile(() => check(row));
      expect(grown).toBeLessThan(MEMORY_MAX);
    });

    if (PLAIN_KINDS.includes(kind)) {
      test.each(large)('asked for a plain reply: %s [fault-total-size]', async (...row) => {
        const { grown } = await memoryWhile(() => check(row, { request: { stream: false } }));
        expect(grown).toBeLessThan(MEMORY_MAX);
      });
    }

    test('endless content is cut at twice the cap and billed at the cap [fault-endless]', async () => {
      const { opening, text } = DIALECT_STREAMS[kind];
      server.behave(
        ({ socket }) => void send(socket, replyHead() + chunked(opening)).then(() => flood(socket, chunked(text('x'.repeat(400))))),
      );
      const calls = callsTo(kind);
      const events = await calls.collect();
      await calls.close();
      const [content, ...rest] = events;
      expect(rest).toEqual([received(100), { type: 'completion-finish', reason: 'length' }]);
      expect(content).toMatchObject({ type: 'text-delta' });
      expect((content as { text: string }).text.length).toBeLessThan(256 * 1024);
    });

    const withTools = { request: { tools: [{ key: { name: 'get_weather' }, wireName: 'get_weather', kind: 'function' as const }] } };

    test('endless tool calls: 128 are returned and billed [fault-tool-calls]', async () => {
      const { opening, call, args, hasWholeCalls } = DIALECT_STREAMS[kind];
      server.behave(async ({ socket }) => {
        await send(socket, replyHead() + chunked(opening));
        for (let index = 0; await send(socket, chunked(call(index), args(index, '{}'))); index++);
      });
      const calls = callsTo(kind);
      const events = await calls.collect({ ...withTools, outputTokensMax: 10_000 });
      await calls.close();
      expect(events.filter(({ type }) => type === 'tool-call-start')).toHaveLength(128);
      const called = hasWholeCalls ? 'get_weather{}' : 'get_weather'; // whole arguments are passed on at once
      expect(events.slice(-2)).toEqual([received((128 * called.length) / 4), failure('upstream_error')]);
    });

    // A dialect without pieces of arguments has the limit of an event.
    if (!DIALECT_STREAMS[kind].hasWholeCalls)
      test('endless arguments are cut like text [fault-tool-calls]', async () => {
        const { opening, call, args } = DIALECT_STREAMS[kind];
        server.behave(
          ({ socket }) =>
            void send(socket, replyHead() + chunked(opening + call(0) + args(0, '{"a":['))).then(() =>
              flood(socket, chunked(args(0, '1,'.repeat(200)))),
            ),
        );
        const calls = callsTo(kind);
        const events = await calls.collect(withTools);
        await calls.close();
        expect(events.slice(-3)).toEqual([
          { type: 'tool-call-end', index: 0 },
          received(100),
          { type: 'completion-finish', reason: 'length' },
        ]);
      });

    test('deeply nested JSON is an upstream failure [fault-json]', async () => {
      const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
      const { opening, text, call, args, ending } = DIALECT_STREAMS[kind];
      const hello = opening + text(CONTENT);
      const calls = callsTo(kind);
      // Harmless in a field that is not read.
      server.behave(writes(replyHead(), chunked(hello, `data: ${deep}\n\n`, ending), LAST_CHUNK));
      expect(await calls.collect()).toEqual(GOOD);
      const whole = (call(0) + args(0, '{}'))
        .replace(/"(arguments|args|input)":("[^"]*"|\{\})/, `"$1":${deep}`)
        .replaceAll('item.added', 'item.done');
      server.behave(writes(replyHead(), chunked(hello, whole, ending), LAST_CHUNK));
      expect(await calls.collect(withTools)).toEqual(failedAfterHello());
      await calls.close();
    });
  });

  test('a stream in answer to a plain request is accepted [fault-type, U-24]', () =>
    check(['', ({ good }) => writes(whole(good)), GOOD], { request: { stream: false } }));

  describe('a stream in answer to a plain request has the limits of a stream [fault-type]', () => {
    const plain = { request: { stream: false } };

    test('it may take longer than a plain reply', () => {
      const { opening, text, ending } = DIALECT_STREAMS[kind];
      const slowly: Fault = ({ socket }) => {
        socket.write(replyHead() + chunked(opening + text(CONTENT)));
        setTimeout(() => socket.write(chunked(ending) + LAST_CHUNK), 600);
      };
      return check(['', () => slowly, GOOD, { ...PATIENT, totalMs: 300 }], plain);
    });

    test('it may be longer than a plain reply', () =>
      check(['', ({ good }) => writes(replyHead(), chunked(`: ${'x'.repeat(60_000)}\n`.repeat(100), good), LAST_CHUNK), GOOD], plain));
  });

  describe('keeps or loses its connection', () => {
    const ask = async (calls: TestCalls): Promise<void> => expect(await calls.collect()).toEqual(GOOD);

    test('a socket is reused after a complete reply', async () => {
      server.behave(writes(whole(goodStream(kind))));
      const calls = callsTo(kind);
      for (let n = 0; n < 5; n++) await ask(calls);
      await calls.close();
      expect(server.connections).toBeLessThanOrEqual(2);
    });

    test('a client that disconnects closes the socket at once', async () => {
      const [begun, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const { opening, text } = DIALECT_STREAMS[kind];
      server.behave(({ socket }) => {
        socket.on('close', () => closed.resolve());
        void send(socket, replyHead() + chunked(opening + text(CONTENT))).then(() => begun.resolve());
      });
      const calls = callsTo(kind);
      const leaving = new AbortController();
      const reading = calls.collect({ signal: leaving.signal });
      await begun.promise;
      leaving.abort(new Error('left'));
      await expect(reading).rejects.toThrow('left');
      await closed.promise;
      await calls.close();
    });

    test.each<[string, Fault]>([
      ['keep-alive, then close', ({ socket }) => void socket.end(whole(goodStream(kind)))],
      ['two replies to one request', writes(whole(goodStream(kind)) + whole(goodStream(kind, 'Not asked for')))],
      ['garbage after the reply', writes(`${whole(goodStream(kind))}garbage`)],
      [
        'HTTP/1.0 with keep-alive',
        writes(wholeReply(goodStream(kind), { connection: 'keep-alive', 'content-type': 'text/event-stream' }, 'HTTP/1.0 200 OK')),
      ],
      [
        'more after the end of the stream',
        ({ socket }) =>
          void send(socket, replyHead() + chunked(goodStream(kind))).then(() => flood(socket, chunked('data: {}\n\n'.repeat(5_000)))),
      ],
    ])('%s: the next requests get their own reply [fault-next]', async (_name, fault) => {
      server.behave(fault);
      const calls = callsTo(kind);
      for (let n = 0; n < 5; n++) {
        await ask(calls);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await calls.close();
    });
  });
});

test('endless lines on many streams: those beyond the shared limit are ended [fault-event-size]', async () => {
  server.behave(({ socket }) => void send(socket, replyHead() + chunked(`data: {"a":"${'x'.repeat(900_000)}`)));
  const calls = new TestCalls(upstreamAt(`http://127.0.0.1:${server.port}/v1`, { timeouts: PATIENT, connectionsMax: 170 }));
  const leaving = new AbortController();
  const failures: unknown[] = [];
  let isOverBound: () => void;
  const overBound = new Promise<void>((resolve) => (isOverBound = resolve));
  const all = Array.from({ length: 170 }, async () => {
    const [end] = await calls.collect({ signal: leaving.signal }).catch(() => []);
    if (end !== undefined) isOverBound();
    failures.push(end);
  });
  await overBound;
  leaving.abort(new Error('left'));
  await Promise.all(all);
  await calls.close();
  const [given, ...others] = failures.filter((end) => end !== undefined);
  expect(given).toEqual(failure('model_capacity'));
  expect(others.length).toBeLessThan(40);
});
