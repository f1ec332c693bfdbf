import { setImmediate as turn } from 'node:timers/promises';
import type { StreamEvent } from '#inference/stream-event.js';
import { encodeEvent } from '#network/event-stream-frame.js';
import { CONTENT, DIALECT_STREAMS, goodStream } from '#testing/dialect-streams.js';
import { chunked, type Fault, FaultServer, flood, LAST_CHUNK, replyHead, send } from '#testing/fault-server.js';
import { FRAMES, toFrames } from '#testing/frames.js';
import { PATIENT, TestCalls, upstreamAt } from '../../test/upstream-calls.js';
import { failedAfterHello, failure, GOOD, received } from '../../test/upstream-faults.js';

/**
 * Streams in frames of AWS, from the socket to the bill. The faults of HTTP and of the dialect are those of all dialects
 * (`hostile-upstreams.test.ts`); these are the faults of the framing.
 */
const { opening, text } = DIALECT_STREAMS['bedrock-converse'];
const HELLO = Buffer.concat(toFrames(opening + text(CONTENT)));
const WHOLE = Buffer.concat(toFrames(goodStream('bedrock-converse')));
const METADATA = toFrames(goodStream('bedrock-converse')).at(-1) as Buffer;
const HEAD = replyHead(FRAMES);
const AT_ONCE = 8;

const server = await FaultServer.start();
const calls = new TestCalls(upstreamAt(`http://127.0.0.1:${server.port}`, { kind: 'bedrock-converse', timeouts: PATIENT }));
afterAll(async () => {
  await calls.close();
  await server.stop();
});

function makeChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

/** Writes the head, each part as a chunk, and the end of the body. */
const sends =
  (...parts: Buffer[]): Fault =>
  async ({ socket }) => {
    await send(socket, Buffer.concat([Buffer.from(HEAD), ...parts.map(makeChunk), Buffer.from(LAST_CHUNK)]));
  };

test.each([
  ['whole', [WHOLE]],
  ['byte by byte, the first of which looks blank', Array.from(WHOLE, (byte) => Buffer.from([byte]))],
])('a good stream, %s', async (_how, parts) => {
  server.behave(sends(...parts));
  expect(await calls.collect()).toEqual(GOOD);
  expect(server.lastHead).toMatch(/^POST \/model\/their-model\/converse-stream HTTP.*accept: application\/vnd\.amazon\.eventstream\r\n/s);
});

test('a stream in answer to a plain request', async () => {
  server.behave(sends(WHOLE));
  expect(await calls.collect({ request: { stream: false } })).toEqual(GOOD);
});

test('a connection that is lost at any byte: what came is billed, and only a whole reply ends well [fault-lost]', async () => {
  const head = replyHead({ ...FRAMES, 'transfer-encoding': null }, 'HTTP/1.0 200 OK'); // its reply ends with the connection
  const raw = Buffer.concat([Buffer.from(head), WHOLE]);
  server.behave(({ socket, body }) => void socket.end(raw.subarray(0, Number(/cut at (\d+)/.exec(body)?.[1]))));
  const positions = Array(raw.length + 1).keys();
  const outcomes: StreamEvent[][] = [];
  const ask = async (): Promise<void> => {
    for (const at of positions) {
      const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: `cut at ${at}` }] }];
      outcomes[at] = await calls.collect({ request: { turns } });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  const [hello, finish] = [HELLO, WHOLE.subarray(0, WHOLE.lastIndexOf(METADATA))].map(({ length }) => head.length + length);
  const expected = Array.from(outcomes, (_, at) => {
    if (at === raw.length) return GOOD;
    if (at === finish) return [...failedAfterHello().slice(0, 2), GOOD.at(-1)];
    return at < Number(hello) ? [failure('upstream_error')] : failedAfterHello();
  });
  expect(outcomes).toEqual(expected);
});

test.each<[string, Buffer, string]>([
  ['an exception', encodeEvent('modelStreamErrorException', '{"message":"No."}'), 'upstream_error'],
  ['an exception of load', encodeEvent('throttlingException', '{"message":"Too many requests."}'), 'model_capacity'],
  ['a payload that is no JSON', encodeEvent('contentBlockDelta', '{"delta":'), 'upstream_error'],
  ['a frame that is damaged', damaged(encodeEvent('contentBlockDelta', '{"delta":{"text":"x"}}')), 'upstream_error'],
  ['server-sent events', Buffer.from(text('More')), 'upstream_error'],
  ['a length of 4 GiB', Buffer.alloc(64, 0xff), 'upstream_error'],
])('%s after content ends the reply, and the content is billed', async (_what, bytes, code) => {
  server.behave(sends(HELLO, bytes, WHOLE));
  expect(await calls.collect()).toEqual(failedAfterHello(code));
});

function damaged(frame: Buffer): Buffer {
  const other = Buffer.from(frame);
  other.writeUInt8(other.readUInt8(frame.length - 6) ^ 1, frame.length - 6);
  return other;
}

test.each<[string, Buffer]>([
  ['frames that say nothing', encodeEvent('ping', `{"p":"${'x'.repeat(60_000)}"}`)],
  ['text', encodeEvent('contentBlockDelta', `{"contentBlockIndex":0,"delta":{"text":"${'x'.repeat(400)}"}}`)],
])('%s without end: memory stays bounded, and the socket is closed', async (what, frame) => {
  const closed = Promise.withResolvers<void>();
  const many = makeChunk(Buffer.concat(Array(Math.ceil(65_536 / frame.length)).fill(frame)));
  server.behave(({ socket }) => {
    socket.on('close', () => closed.resolve());
    void send(socket, Buffer.concat([Buffer.from(HEAD), makeChunk(HELLO)])).then(() => flood(socket, many));
  });
  const events = await calls.collect();
  await closed.promise;
  if (what === 'text') expect(events.slice(1)).toEqual([received(100), { type: 'completion-finish', reason: 'length' }]);
  else expect(events).toEqual(failedAfterHello());
});

test('a client that disconnects closes the socket at once', async () => {
  const [begun, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  server.behave(({ socket }) => {
    socket.on('close', () => closed.resolve());
    void send(socket, Buffer.concat([Buffer.from(HEAD), makeChunk(HELLO)])).then(() => begun.resolve());
  });
  const leaving = new AbortController();
  const reading = calls.collect({ signal: leaving.signal });
  await begun.promise;
  await turn();
  leaving.abort(new Error('left'));
  await expect(reading).rejects.toThrow('left');
  await closed.promise;
});

test('a page of a proxy instead of frames is a failure', async () => {
  server.behave(
    ({ socket }) => void send(socket, replyHead({ 'content-type': 'text/html' }) + chunked('<html>Sign in</html>') + LAST_CHUNK),
  );
  expect(await calls.collect()).toEqual([failure('upstream_error')]);
});
