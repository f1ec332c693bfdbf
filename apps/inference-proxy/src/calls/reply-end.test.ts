import { jest } from '@jest/globals';
import { UPSTREAM_KINDS } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { bytesUntilUsage, CONTENT, DIALECT_STREAMS } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, replyHead, send } from '#testing/fault-server.js';
import { PATIENT, TestCalls, upstreamAt } from '../../test/upstream-calls.js';
import { failure, GOOD } from '../../test/upstream-faults.js';
import { UsageMeter } from './usage-meter.js';

/** A reply is complete when its dialect says so, whether or not its upstream closes. */
const HEARTBEAT_MS = 5;

let calls: TestCalls | undefined;

const server = await FaultServer.start(() => undefined);
afterEach(() => calls?.close());
afterAll(() => server.stop());

/** Sends the parts and then comments until the other side closes. */
const opensFor =
  (closed: () => void, ...parts: string[]): Fault =>
  async ({ socket }) => {
    socket.on('close', closed);
    await send(socket, replyHead() + chunked(...parts));
    const timer = setInterval(() => socket.write(chunked(': ping\n\n')), HEARTBEAT_MS);
    socket.on('close', () => clearInterval(timer));
  };

const opensQuietly =
  (...parts: string[]): Fault =>
  async ({ socket }) =>
    void (await send(socket, replyHead() + chunked(...parts)));

function callsTo(kind: (typeof UPSTREAM_KINDS)[number], finishMs: number): TestCalls {
  calls = new TestCalls(upstreamAt(`http://127.0.0.1:${server.port}/v1`, { kind, timeouts: { ...PATIENT, finishMs } }));
  return calls;
}

/** Returns the events of an ending up to the one with the usage, without the end marker behind it. */
function untilUsage(ending: string): string {
  return ending.slice(0, bytesUntilUsage(Buffer.from(ending)));
}

describe.each(UPSTREAM_KINDS)('%s', (kind) => {
  const { opening, text, ending, endsWithUsage, plain } = DIALECT_STREAMS[kind];

  test('a stream whose finish and usage have come ends well, and its socket is closed', async () => {
    const closed = new Promise<void>((resolve) => {
      server.behave(opensFor(resolve, opening, text(CONTENT), untilUsage(ending)));
    });
    expect(await callsTo(kind, 50).collect({ request: { stream: true } })).toEqual(GOOD);
    await closed;
  });

  test('a plain reply that is whole ends well although its socket stays open, and closes it', async () => {
    const closed = new Promise<void>((resolve) => {
      server.behave(async ({ socket }) => {
        socket.on('close', resolve);
        await send(socket, replyHead({ 'content-type': 'application/json' }) + chunked(plain(CONTENT)));
      });
    });
    expect(await callsTo(kind, 50).collect({ request: { stream: false } })).toEqual(GOOD);
    await closed;
  });

  // A stream that says its usage and its end in one event has ended.
  test.each(endsWithUsage ? [false] : [true, false])(
    'the socket of a reply that ended without its upstream is closed at once (stream: %p)',
    async (stream) => {
      let beats = 0;
      const closed = new Promise<void>((resolve) => {
        server.behave(async ({ socket }) => {
          const parts = stream ? [opening, text(CONTENT), untilUsage(ending)] : [plain(CONTENT)];
          await send(socket, replyHead(stream ? {} : { 'content-type': 'application/json' }) + chunked(...parts));
          const timer = setInterval(() => beats++, HEARTBEAT_MS);
          socket.on('close', () => {
            clearInterval(timer);
            resolve();
          });
        });
      });
      await callsTo(kind, 50).collect({ request: { stream } });
      const beatsAtTheEnd = beats;
      await closed;
      // Waiting for the rest of a reply takes some twenty beats.
      expect(beats - beatsAtTheEnd).toBeLessThan(5);
    },
  );

  test('a plain reply that is whole ends well although its connection breaks', async () => {
    server.behave(async ({ socket }) => {
      await send(socket, replyHead({ 'content-type': 'application/json' }) + chunked(plain(CONTENT)));
      socket.end();
    });
    expect(await callsTo(kind, 60_000).collect({ request: { stream: false } })).toEqual(GOOD);
  });

  test('usage that has come with the finish is billed exactly, without a floor, when the client disconnects', async () => {
    server.behave(opensFor(() => undefined, opening, text(CONTENT), untilUsage(ending)));
    const meter = new UsageMeter({ promptTokensEstimate: 20, outputTokensMax: 10_000 });
    const seen = jest.spyOn(meter, 'noteCounts');
    const stop = new AbortController();
    const reading = (async () => {
      for await (const _events of callsTo(kind, 60_000).start({ request: { stream: true }, signal: stop.signal }, meter));
    })();
    if (endsWithUsage) {
      await reading;
      expect(meter.withHidden(1_000)).toMatchObject({ promptTokens: 12, outputTokens: 3, outputSource: 'reported' });
      return;
    }
    while (seen.mock.lastCall?.[1] !== true) await new Promise(setImmediate);
    stop.abort();
    await expect(reading).rejects.toThrow();
    expect(meter.withHidden(1_000)).toMatchObject({ promptTokens: 12, outputTokens: 3, outputSource: 'reported' });
  });
});

test('usage that follows the finish within the grace is still taken', async () => {
  const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];
  const [finish = '', usage = ''] = ending.split(/(?<=\n\n)/);
  server.behave(async ({ socket }) => {
    await send(socket, replyHead() + chunked(opening, text(CONTENT), finish));
    setTimeout(() => socket.write(chunked(usage)), 20);
  });
  expect(await callsTo('openai-chat', 2_000).collect({ request: { stream: true } })).toEqual(GOOD);
});

test('a finish on the first chunk does not end a reply whose content goes on', async () => {
  const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];
  const early = text('Hel').replace('"finish_reason":null', '"finish_reason":"stop"');
  server.behave(async ({ socket }) => {
    await send(socket, replyHead() + chunked(opening, early, text('lo')));
    setTimeout(() => socket.end(chunked(ending)), 300);
  });
  const events = await callsTo('openai-chat', 100).collect({ request: { stream: true } });
  expect(events).toEqual(GOOD);
});

test('a finish on a first chunk without content does not end the reply', async () => {
  const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];
  server.behave(async ({ socket }) => {
    await send(socket, replyHead() + chunked(opening.replace('"finish_reason":null', '"finish_reason":"stop"')));
    setTimeout(() => socket.end(chunked(text(CONTENT), ending)), 300);
  });
  expect(await callsTo('openai-chat', 100).collect({ request: { stream: true } })).toEqual(GOOD);
});

test('a server that finishes each chunk does not end its reply with an empty one', async () => {
  const { text, ending } = DIALECT_STREAMS['openai-chat'];
  const finished = (content: string) => text(content).replace('"finish_reason":null', '"finish_reason":"stop"');
  server.behave(async ({ socket }) => {
    await send(socket, replyHead() + chunked(finished('He'), finished('l'), finished('')));
    setTimeout(() => socket.end(chunked(finished('lo'), ending)), 300);
  });
  const events = await callsTo('openai-chat', 100).collect({ request: { stream: true } });
  expect(events).toEqual(GOOD);
});

test('a finish that comes again after the content ends a reply that stays open', async () => {
  const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];
  const early = text('Hel').replace('"finish_reason":null', '"finish_reason":"stop"');
  server.behave(opensQuietly(opening, early, text('lo'), untilUsage(ending)));
  expect(await callsTo('openai-chat', 50).collect({ request: { stream: true } })).toEqual(GOOD);
});

test.each(['length', 'content_filter'])('the finish %s ends a reply without content and usage that stays open', async (word) => {
  server.behave(opensQuietly(DIALECT_STREAMS['openai-chat'].opening.replace('"finish_reason":null', `"finish_reason":"${word}"`)));
  const events = await callsTo('openai-chat', 50).collect({ request: { stream: true } });
  expect(events.at(-1)).toEqual({ type: 'completion-finish', reason: word.replace('_', '-') });
});

test('usage whose event lacks its blank line is taken at the end of the grace', async () => {
  const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];
  server.behave(opensQuietly(opening, text(CONTENT), untilUsage(ending).slice(0, -1)));
  expect(await callsTo('openai-chat', 50).collect({ request: { stream: true } })).toEqual(GOOD);
});

test('a plain reply that is whole ends well although blank lines keep its socket open', async () => {
  server.behave(async ({ socket }) => {
    await send(socket, replyHead({ 'content-type': 'application/json' }) + chunked(DIALECT_STREAMS['openai-chat'].plain(CONTENT)));
    const timer = setInterval(() => socket.write(chunked('\n')), HEARTBEAT_MS);
    socket.on('close', () => clearInterval(timer));
  });
  expect(await callsTo('openai-chat', 50).collect({ request: { stream: false } })).toEqual(GOOD);
});

test('a stream that breaks after its finish and before its usage fails', async () => {
  const { opening, text, ending } = DIALECT_STREAMS['openai-chat'];
  const [finish = ''] = ending.split(/(?<=\n\n)/);
  server.behave(async ({ socket }) => {
    await send(socket, replyHead() + chunked(opening, text(CONTENT), finish));
    socket.end();
  });
  const events: StreamEvent[] = await callsTo('openai-chat', 60_000).collect({ request: { stream: true } });
  expect(events.at(-1)).toEqual(failure('upstream_error'));
});
