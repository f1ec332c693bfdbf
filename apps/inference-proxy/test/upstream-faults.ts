import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Upstream, UpstreamTimeouts } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { CONTENT, DIALECT_STREAMS, type DialectStream, goodStream, REPORTED_USAGE } from '#testing/dialect-streams.js';
import { chunked, drip, type Fault, flood, LAST_CHUNK, replyHead, send, wholeReply } from '#testing/fault-server.js';

/*
 * Faults of upstreams with their outcome: the code for the client, and the bill. A failure without a `usage-report` before it costs
 * nothing; one with it costs the received content.
 */

const HELLO: StreamEvent = { type: 'text-delta', text: CONTENT };
const STOP: StreamEvent = { type: 'completion-finish', reason: 'stop' };
export const GOOD: StreamEvent[] = [HELLO, { type: 'usage-report', usage: REPORTED_USAGE }, STOP];

export function received(outputTokens: number): StreamEvent {
  return {
    type: 'usage-report',
    usage: { promptTokens: 20, cachedTokens: 0, outputTokens, reasoningTokens: 0, promptSource: 'estimated', outputSource: 'counted' },
  };
}

export function failure(code: string): StreamEvent {
  return { type: 'completion-failure', code, message: expect.any(String), retryAfterSeconds: undefined } as unknown as StreamEvent;
}

/** A failure without a bill. */
const failed = (code = 'upstream_error'): StreamEvent[] => [failure(code)];
/** A failure after content, which is billed. */
export const failedAfterHello = (code = 'upstream_error'): StreamEvent[] => [HELLO, received(2), failure(code)];

/** For replies without content: the outcome is the same whichever timeout ends them. */
const IMPATIENT: UpstreamTimeouts = { connectMs: 10_000, firstByteMs: 800, idleMs: 800, totalMs: 1_200 };
/** For replies that go idle after content: only idleMs is short, so that content arrives in time on a busy machine. */
const IMPATIENT_AFTER_CONTENT: UpstreamTimeouts = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 800, totalMs: 20_000 };
/** For replies that never go idle after content. */
const IMPATIENT_IN_ALL: UpstreamTimeouts = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 3_000 };
const MIB = 1024 * 1024;

type Fragments = DialectStream & { good: string; hello: string };
export type Row = [name: string, fault: (dialect: Fragments) => Fault, outcome: StreamEvent[], timeouts?: UpstreamTimeouts];

export const writes =
  (...parts: (string | Buffer)[]): Fault =>
  ({ socket }) => {
    for (const part of parts) socket.write(part);
  };
const writesAndCloses =
  (...parts: (string | Buffer)[]): Fault =>
  ({ socket }) => {
    for (const part of parts) socket.write(part);
    socket.end();
  };
export const whole = (body: string): string => replyHead() + chunked(body) + LAST_CHUNK;

export const slow: Row[] = [
  [
    'a head that drips in (slowloris) [fault-slow]',
    () =>
      ({ socket }) =>
        drip(socket, replyHead({ 'x-a': 'b'.repeat(10_000) }), 20),
    failed('upstream_timeout'),
    IMPATIENT,
  ],
  [
    'a body that drips in before content (slowloris) [fault-slow]',
    () =>
      ({ socket }) => {
        socket.write(replyHead());
        const timer = setInterval(() => socket.write(chunked(': \n')), 20);
        socket.on('close', () => clearInterval(timer));
      },
    failed('upstream_timeout'),
    IMPATIENT,
  ],
  [
    'events of nothing for ever, after content [fault-slow]',
    ({ hello, nothing }) =>
      ({ socket }) => {
        socket.write(replyHead() + chunked(hello));
        const timer = setInterval(() => socket.write(chunked(nothing)), 20);
        socket.on('close', () => clearInterval(timer));
      },
    failedAfterHello('upstream_timeout'),
    IMPATIENT_IN_ALL,
  ],
  [
    'JSON that drips in where a stream was asked for [fault-slow]',
    () =>
      ({ socket }) => {
        socket.write(replyHead({ 'content-type': 'application/json' }) + chunked('{'));
        const timer = setInterval(() => socket.write(chunked(' ')), 20);
        socket.on('close', () => clearInterval(timer));
      },
    failed('upstream_timeout'),
    IMPATIENT,
  ],
  ['a 200 at once, then silence [fault-slow]', () => writes(replyHead()), failed('upstream_timeout'), IMPATIENT],
  [
    'content, then silence [fault-slow]',
    ({ hello }) => writes(replyHead(), chunked(hello)),
    failedAfterHello('upstream_timeout'),
    IMPATIENT_AFTER_CONTENT,
  ],
  [
    'early hints for ever [fault-interim]',
    () =>
      // As fast as they are read, so that their number ends them and not a timeout.
      ({ socket }) =>
        void flood(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(1_000)),
    failed(),
  ],
  [
    'a chunk extension without end [fault-framing]',
    ({ hello }) =>
      ({ socket }) =>
        void send(socket, `${replyHead()}${chunked(hello)}5;`).then(() => flood(socket, 'x'.repeat(65_536))),
    failedAfterHello('upstream_timeout'),
    IMPATIENT_AFTER_CONTENT,
  ],
  ['an error whose text never ends [fault-slow]', () => writes(replyHead({}, 'HTTP/1.1 500 No'), chunked('{"error":')), failed()],
];

export const framing: Row[] = [
  [
    '32 early hints before the reply [fault-interim]',
    ({ good }) => writes('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(32), whole(good)),
    GOOD,
  ],
  [
    '33 early hints before the reply [fault-interim]',
    ({ good }) => writes('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(33), whole(good)),
    failed(),
  ],
  ['an unrequested 100 Continue [fault-interim]', ({ good }) => writes('HTTP/1.1 100 Continue\r\n\r\n', whole(good)), failed()],
  [
    'an unrequested protocol switch [fault-interim]',
    () => writes('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    failed(),
  ],
  ['trailers [fault-trailers]', ({ good }) => writes(replyHead({ trailer: 'x-a' }), chunked(good), '0\r\nx-a: b\r\n\r\n'), GOOD],
  [
    'trailers without end, after the end [fault-trailers]',
    ({ good }) =>
      ({ socket }) =>
        void send(socket, `${replyHead()}${chunked(good)}0\r\n`).then(() => flood(socket, `x-a: ${'b'.repeat(1000)}\r\n`)),
    GOOD,
  ],
  [
    'trailers without end, before it [fault-trailers]',
    ({ hello }) =>
      ({ socket }) =>
        void send(socket, `${replyHead()}${chunked(hello)}0\r\n`).then(() => flood(socket, `x-a: ${'b'.repeat(1000)}\r\n`)),
    failedAfterHello(),
  ],
  [
    'a chunk size that is no number [fault-framing]',
    ({ hello }) => writes(replyHead(), chunked(hello), 'zz\r\nabc\r\n'),
    failedAfterHello(),
  ],
  [
    'a chunk longer than it says [fault-framing]',
    ({ hello }) => writes(replyHead(), chunked(hello), '3\r\nabcdef\r\n'),
    failedAfterHello(),
  ],
  [
    'a chunk shorter than it says [fault-framing]',
    ({ hello }) => writesAndCloses(replyHead(), chunked(hello), 'ffff\r\nabc\r\n'),
    failedAfterHello(),
  ],
  [
    'a chunk size beyond all numbers [fault-framing]',
    ({ hello }) => writes(replyHead(), chunked(hello), `${'f'.repeat(40)}\r\nabc\r\n`),
    failedAfterHello(),
  ],
  ['a negative chunk size', ({ hello }) => writes(replyHead(), chunked(hello), '-1\r\nabc\r\n'), failedAfterHello()],
  [
    'an end of the stream without the last chunk [fault-framing]',
    ({ hello }) => writesAndCloses(replyHead(), chunked(hello)),
    failedAfterHello(),
  ],
  [
    'a content-length that is too long',
    ({ hello }) => writesAndCloses(replyHead({ 'transfer-encoding': null, 'content-length': '9999' }), hello),
    failedAfterHello(),
  ],
  [
    'a content-length that is too short',
    ({ hello, ending }) => writes(replyHead({ 'transfer-encoding': null, 'content-length': String(hello.length) }), hello, ending),
    failedAfterHello(),
  ],
  ['a negative content-length', ({ good }) => writes(replyHead({ 'transfer-encoding': null, 'content-length': '-5' }), good), failed()],
  [
    'two different content-lengths [fault-framing]',
    ({ good }) => writes(`HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 9\r\n\r\n${good}`),
    failed(),
  ],
  [
    'content-length and chunked coding together [fault-framing]',
    ({ good }) => writes(replyHead({ 'content-length': '5' }), chunked(good), LAST_CHUNK),
    failed(),
  ],
  ['HTTP/1.0, ended by closing', ({ good }) => writesAndCloses(replyHead({ 'transfer-encoding': null }, 'HTTP/1.0 200 OK'), good), GOOD],
  [
    'HTTP/1.0 cut short by closing',
    ({ hello }) => writesAndCloses(replyHead({ 'transfer-encoding': null }, 'HTTP/1.0 200 OK'), hello),
    failedAfterHello(),
  ],
  ['no head at all (HTTP/0.9)', ({ good }) => writesAndCloses(good), failed()],
  ['another protocol [fault-garbage]', () => writesAndCloses('220 mail.example ESMTP\r\n'), failed()],
  ['random bytes instead of a reply [fault-garbage]', () => writesAndCloses(randomBytes(4096)), failed()],
  [
    'a connection that only closes',
    () =>
      ({ socket }) =>
        void socket.end(),
    failed(),
  ],
  [
    'a reset instead of a reply',
    () =>
      ({ socket }) =>
        void socket.resetAndDestroy(),
    failed(),
  ],
  [
    'a reset within content',
    ({ hello }) =>
      ({ socket }) =>
        void send(socket, replyHead() + chunked(hello)).then(() => setTimeout(() => socket.resetAndDestroy(), 30)),
    failedAfterHello(),
  ],
];

export const contents: Row[] = [
  [
    'a stream called a web page [fault-type]',
    ({ good }) => writes(replyHead({ 'content-type': 'text/html' }), chunked(good), LAST_CHUNK),
    GOOD,
  ],
  ['a stream called JSON', ({ good }) => writes(replyHead({ 'content-type': 'application/json' }), chunked(good), LAST_CHUNK), GOOD],
  ['a stream of no type', ({ good }) => writes(replyHead({ 'content-type': null }), chunked(good), LAST_CHUNK), GOOD],
  [
    'two types at once [fault-type]',
    ({ good }) => writes(replyHead().replace('\r\n\r\n', '\r\ncontent-type: application/json\r\n\r\n'), chunked(good), LAST_CHUNK),
    GOOD,
  ],
  [
    'two encodings at once [fault-compression]',
    ({ good }) =>
      writes(
        replyHead({ 'content-encoding': 'identity' }).replace('\r\n\r\n', '\r\ncontent-encoding: gzip\r\n\r\n'),
        chunked(good),
        LAST_CHUNK,
      ),
    failed(),
  ],
  ['a web page called a stream [fault-type]', () => writes(whole('<!doctype html><html><body>Welcome</body></html>')), failed()],
  ['a web page', () => writes(wholeReply('<html>Sign in</html>', { 'content-type': 'text/html' })), failed()],
  ['a whole reply called a stream [fault-type]', ({ plain }) => writes(whole(plain(CONTENT))), GOOD],
  ['204 without a word', () => writes('HTTP/1.1 204 No Content\r\n\r\n'), failed()],
  [
    'unrequested gzip [fault-compression]',
    ({ good }) => writes(replyHead({ 'content-encoding': 'gzip', 'transfer-encoding': null }), gzipSync(good)),
    failed(),
  ],
  ...['deflate', 'br', 'zstd', 'gzip, identity', 'GZIP', 'x'].map(
    (encoding): Row => [
      `the encoding ${encoding} [fault-compression]`,
      ({ good }) => writes(replyHead({ 'content-encoding': encoding }), chunked(good), LAST_CHUNK),
      failed(),
    ],
  ),
  ['the encoding identity', ({ good }) => writes(replyHead({ 'content-encoding': 'identity' }), chunked(good), LAST_CHUNK), GOOD],
  [
    'gzip as a transfer coding [fault-compression]',
    ({ good }) =>
      ({ socket }) => {
        const bytes = gzipSync(good);
        socket.end(
          Buffer.concat([
            Buffer.from(`${replyHead({ 'transfer-encoding': 'gzip, chunked' })}${bytes.length.toString(16)}\r\n`),
            bytes,
            Buffer.from(`\r\n${LAST_CHUNK}`),
          ]),
        );
      },
    failed(),
  ],
  ['random bytes as a stream', () => writesAndCloses(replyHead({ 'transfer-encoding': null }), randomBytes(100_000)), failed()],
  [
    'random bytes after content [fault-garbage]',
    ({ hello }) => writesAndCloses(replyHead({ 'transfer-encoding': null }), hello, 'data: {', randomBytes(10_000), '\n\n'),
    failedAfterHello(),
  ],
  ['NULs before the stream', ({ good }) => writes(replyHead(), chunked('\0'.repeat(1000)), chunked(`\n${good}`), LAST_CHUNK), GOOD],
  [
    'half an event before a good end [fault-garbage]',
    ({ hello, ending }) => writes(whole(`${hello}data: {"choices":[{\n\n${ending}`)),
    failedAfterHello(),
  ],
  [
    'NULs within an event [fault-garbage]',
    ({ hello }) => writes(replyHead(), chunked(hello, 'data: \0\0\0\n\n'), LAST_CHUNK),
    failedAfterHello(),
  ],
  [
    'half a character at the end [fault-garbage]',
    ({ hello }) => writesAndCloses(replyHead({ 'transfer-encoding': null }), hello, 'data: {"a":"', Buffer.from([0xf0, 0x9f])),
    failedAfterHello(),
  ],
  ...[301, 302, 303, 307, 308].map(
    (status): Row => [
      `a redirect ${status} [fault-redirect]`,
      () => writes(wholeReply('', { location: '/v1/elsewhere' }, `HTTP/1.1 ${status} Moved`)),
      failed(),
    ],
  ),
];

/** Deeper than a stack. */
const DEEP = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
const errorSaying = (message: string): string => `{"type":"error","error":{"message":${message}}}`;
/** Eight bytes of data, each time in a chunk of their own. */
const SMALL_CHUNKS = '8\r\nxxxxxxxx\r\n'.repeat(5_000);
const MANY_VALUES = `[${'{},'.repeat(300_000)}{}]`;

const EMPTY_COMMENT = `: ${'x'.repeat(60_000)}\n`;
const endless =
  (what: (dialect: Fragments) => string, first: (dialect: Fragments) => string = () => ''): Row[1] =>
  (dialect) =>
  ({ socket }) =>
    void send(socket, replyHead() + (first(dialect) === '' ? '' : chunked(first(dialect)))).then(() =>
      flood(socket, chunked(what(dialect).repeat(Math.ceil(65_536 / what(dialect).length)))),
    );

export const large: Row[] = [
  [
    'headers without end [fault-head-size]',
    () =>
      ({ socket }) =>
        void send(socket, 'HTTP/1.1 200 OK\r\n').then(() => flood(socket, `x-a: ${'b'.repeat(1000)}\r\n`)),
    failed(),
  ],
  ['a header of 1 MiB [fault-head-size]', ({ good }) => writes(replyHead({ 'x-a': 'b'.repeat(MIB) }), chunked(good), LAST_CHUNK), failed()],
  ['10,000 small headers [fault-head-size]', ({ good }) => writes(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}\r\n`, good), failed()],
  [
    'a line without end [fault-event-size]',
    endless(
      () => 'x',
      ({ hello }) => `${hello}data: {"a":"`,
    ),
    failedAfterHello(),
  ],
  [
    'a line without end before content',
    endless(
      () => 'x',
      () => 'data: "',
    ),
    failed(),
  ],
  [
    'an event of lines without end [fault-event-size]',
    endless(
      () => 'data: x\n',
      ({ hello }) => hello,
    ),
    failedAfterHello(),
  ],
  [
    'comments without end [fault-total-size]',
    endless(
      () => EMPTY_COMMENT,
      ({ hello }) => hello,
    ),
    failedAfterHello(),
  ],
  [
    'events of nothing without end [fault-total-size]',
    endless(
      ({ nothing }) => nothing.padEnd(60_000, ': \n'),
      ({ hello }) => hello,
    ),
    failedAfterHello(),
  ],
  [
    'a line without end, in chunks of a few bytes [fault-event-size]',
    ({ hello }) =>
      ({ socket }) =>
        void send(socket, replyHead() + chunked(`${hello}data: {"a":"`)).then(() => flood(socket, SMALL_CHUNKS)),
    failedAfterHello(),
  ],
  [
    'an event of a million things [fault-json]',
    ({ hello }) => writes(replyHead(), chunked(hello, `data: {"type":"message_start","tool_use":${MANY_VALUES}}\n\n`)),
    failedAfterHello(),
  ],
  [
    'an error that is nested deeper than a stack [fault-json]',
    ({ hello }) => writes(replyHead(), chunked(hello, `data: ${errorSaying(DEEP)}\n\n`)),
    failedAfterHello(),
  ],
  [
    'an error of one word, a hundred thousand times [fault-words]',
    ({ hello }) => writes(replyHead(), chunked(hello, `data: ${errorSaying(`"${'violat'.repeat(100_000)}"`)}\n\n`)),
    failedAfterHello(),
  ],
  ['NULs without end', endless(() => '\0'), failed()],
  ['blank lines without end', endless(() => '\n'), failed()],
  [
    'a plain reply without end [fault-total-size]',
    () =>
      ({ socket }) =>
        void send(socket, replyHead({ 'content-type': 'application/json' }) + chunked('{"a":"')).then(() =>
          flood(socket, chunked('x'.repeat(65_536))),
        ),
    failed(),
  ],
  [
    'a plain reply without end, in chunks of a few bytes [fault-total-size]',
    () =>
      ({ socket }) =>
        void send(socket, replyHead({ 'content-type': 'application/json' }) + chunked('{"a":"')).then(() => flood(socket, SMALL_CHUNKS)),
    failed(),
  ],
  [
    'a plain reply that says it has 10 GiB [fault-total-size]',
    () =>
      ({ socket }) => {
        const head = replyHead({ 'transfer-encoding': null, 'content-type': 'application/json', 'content-length': String(10 * 1024 ** 3) });
        void send(socket, `${head}{"a":"`).then(() => flood(socket, 'x'.repeat(65_536)));
      },
    failed(),
  ],
  [
    'JSON of 6 MiB for 100 tokens [fault-total-size]',
    ({ plain }) => writes(wholeReply(plain(CONTENT) + ' '.repeat(6 * MIB), { 'content-type': 'application/json' })),
    failed(),
  ],
  ['a plain reply of a million things [fault-json]', () => writes(wholeReply(`{"tool_use":${MANY_VALUES}}`)), failed()],
  ['a plain error that is nested deeper than a stack', () => writes(wholeReply(errorSaying(DEEP))), failed()],
];

export function fragments(kind: Upstream['kind']): Fragments {
  const dialect = DIALECT_STREAMS[kind];
  return { ...dialect, good: goodStream(kind), hello: dialect.opening + dialect.text(CONTENT) };
}
