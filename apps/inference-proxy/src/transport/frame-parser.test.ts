import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { encodeEvent, encodeFrame } from '#network/event-stream-frame.js';
import { testCases } from '#testing/long-run.js';
import { cutAt } from '../../test/sse-bytes.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { FrameParser } from './frame-parser.js';

/** Returns the payloads, and the failure behind them. */
function parse(chunks: readonly Buffer[]): { payloads: string[]; failure?: string | undefined } {
  const parser = new FrameParser();
  const payloads: string[] = [];
  try {
    for (const chunk of chunks) parser.push(chunk, (payload) => void payloads.push(payload));
    parser.end();
    return { payloads };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return { payloads, failure: error.detail };
  }
}

/** Frames that AWS publishes with its own codec (aws-c-event-stream), as hexadecimal: their checksums are not ours. */
const AWS_FRAMES: [string, string, string][] = [
  ['an empty message', '000000100000000005c248eb7d98c8ff', ''],
  ['a payload without headers', '0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936', "{'foo':'bar'}"],
  [
    'a payload with a header of text',
    '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1',
    "{'foo':'bar'}",
  ],
];

test.each(AWS_FRAMES)('%s of AWS is read, and ours is the same', (name, hex, payload) => {
  expect(parse([Buffer.from(hex, 'hex')])).toEqual({ payloads: [] }); // it has no type
  const headers: Record<string, string> = name.includes('text') ? { 'content-type': 'application/json' } : {};
  expect(encodeFrame(headers, payload).toString('hex')).toBe(hex);
});

const ALL = Buffer.concat([
  encodeEvent('contentBlockDelta', '{"delta":{"text":"héllo 👩‍👩‍👧"}}'),
  encodeFrame({ ':message-type': 'event' }, '{"untyped":1}'),
  encodeEvent('messageStop', ''),
  encodeEvent('throttlingException', '{"message":"slow down"}'),
  encodeFrame({ ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'a "fault"' }, ''),
]);
const PAYLOADS = [
  '{"contentBlockDelta":{"delta":{"text":"héllo 👩‍👩‍👧"}}}',
  '{"messageStop":{}}',
  '{"throttlingException":{"message":"slow down"}}',
  '{"error":{"code":"InternalFailure","message":"a \\"fault\\""}}',
];

test('events, exceptions and errors, the same however they are cut', () => {
  expect(parse([ALL])).toEqual({ payloads: PAYLOADS });
  for (let at = 0; at <= ALL.length; at++) expect(parse([ALL.subarray(0, at), ALL.subarray(at)])).toEqual({ payloads: PAYLOADS });
  expect(parse(Array.from(ALL, (byte) => Buffer.from([byte])))).toEqual({ payloads: PAYLOADS });
});

test('a stream that ends inside a frame has failed, after the frames before it', () => {
  for (let end = 0; end < ALL.length; end++) {
    const { payloads, failure } = parse([ALL.subarray(0, end)]);
    expect({ end, isBeginning: PAYLOADS.slice(0, payloads.length).join() === payloads.join() }).toEqual({ end, isBeginning: true });
    if (failure !== undefined) expect(failure).toBe('the stream ended inside a frame');
  }
});

test('headers of other types are skipped', () => {
  const typed = (type: number, value: number[]) => Buffer.from([1, 'a'.charCodeAt(0), type, ...value]);
  const others = [[], [], [1], [1, 2], [1, 2, 3, 4], Array(8).fill(1), [0, 2, 9, 9], undefined, Array(8).fill(1), Array(16).fill(1)];
  const headers = Buffer.concat(others.flatMap((value, type) => (value === undefined ? [] : [typed(type, value)])));
  expect(parse([withHeaders(headers)])).toEqual({ payloads: ['{"x":{}}'] });
});

test.each<[string, Buffer, string]>([
  ['a wrong checksum of the prelude', flipped(ALL, 3), 'wrong checksum of a prelude'],
  ['a wrong checksum of the message', flipped(ALL, 60), 'wrong checksum of a frame'],
  ['4 GiB', prelude(2 ** 32 - 1, 0), 'a frame of the stream is too long'],
  ['more than the limit by a byte', prelude(1024 * 1024 + 1, 0), 'a frame of the stream is too long'],
  ['no length', prelude(0, 0), 'headers longer than their frame'],
  ['a length below its own parts', prelude(15, 0), 'headers longer than their frame'],
  ['headers longer than the frame', prelude(100, 85), 'headers longer than their frame'],
  ['headers of 4 GiB', prelude(100, 2 ** 32 - 1), 'headers longer than their frame'],
  ['a name that is cut', withHeaders(Buffer.from([9, 97])), 'headers of a frame cannot be read'],
  ['a value that is cut', withHeaders(Buffer.from([1, 97, 7, 0, 9, 97])), 'headers of a frame cannot be read'],
  ['an unknown type', withHeaders(Buffer.from([1, 97, 10])), 'headers of a frame cannot be read'],
  ['events of the other framing', Buffer.from('data: {"messageStart":{}}\n\n'), 'wrong checksum of a prelude'],
])('%s is a failure', (_what, bytes, detail) => {
  expect(parse([bytes])).toEqual({ payloads: [], failure: detail });
});

test('a frame in pieces of a byte is joined once, not for each piece', () => {
  const parser = new FrameParser();
  const frame = encodeEvent('contentBlockDelta', JSON.stringify({ text: 'x'.repeat(1_000_000) }));
  const payloads: string[] = [];
  for (const byte of frame.subarray(0, 200_000)) parser.push(Buffer.from([byte]), (payload) => void payloads.push(payload));
  expect(parser.heldBytes).toBe(200_000);
  parser.push(frame.subarray(200_000), (payload) => void payloads.push(payload));
  expect([JSON.parse(payloads[0] ?? '').contentBlockDelta.text.length, parser.heldBytes]).toEqual([1_000_000, 0]);
});

testCases(
  'damaged bytes end in payloads and a failure, the same however they are cut',
  { usual: 500, long: 100_000 },
  fc.tuple(fc.array(fc.tuple(fc.nat(ALL.length), fc.nat(255)), { maxLength: 3 }), fc.array(fc.nat(), { maxLength: 4 })),
  ([damage, points]) => {
    const bytes = Buffer.from(ALL);
    for (const [at, byte] of damage) bytes[at % bytes.length] = byte;
    expect(parse(cutAt(bytes, points))).toEqual(parse([bytes]));
  },
);

function flipped(bytes: Buffer, at: number): Buffer {
  const damaged = Buffer.from(bytes.subarray(0, bytes.readUInt32BE(0)));
  damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
  return damaged;
}

function prelude(length: number, headersLength: number): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt32BE(length, 0);
  head.writeUInt32BE(headersLength, 4);
  head.writeUInt32BE(crc32(head.subarray(0, 8)), 8);
  return head;
}

/** A frame with these headers before one that says its type. */
function withHeaders(headers: Buffer): Buffer {
  const typed = encodeFrame({ ':event-type': 'x' }, '');
  const all = Buffer.concat([headers, typed.subarray(12, -4)]);
  const frame = Buffer.concat([prelude(16 + all.length, all.length), all, Buffer.alloc(4)]);
  frame.writeUInt32BE(crc32(frame.subarray(0, -4)), frame.length - 4);
  return frame;
}
