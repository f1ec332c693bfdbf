import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { cutAt, encoded, sseStyles } from '../../test/sse-bytes.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { SseParser } from './sse-parser.js';

function parse(chunks: (string | Buffer)[], lineBytesMax?: number): string[] {
  const parser = new SseParser(lineBytesMax);
  const payloads: string[] = [];
  const take = (payload: string) => payloads.push(payload);
  for (const chunk of chunks) parser.push(Buffer.from(chunk as string), take);
  parser.end(take);
  return payloads;
}

test.each<[string, string, string[]]>([
  ['the common form', 'data: {"a":1}\n\ndata: {"b":2}\n\n', ['{"a":1}', '{"b":2}']],
  ['no space after the colon [U-14, T-32]', 'data:{"a":1}\n\n', ['{"a":1}']],
  ['only one space is taken', 'data:  x\n\n', [' x']],
  ['CRLF [T-32]', 'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n', ['{"a":1}', '[DONE]']],
  ['CR alone', 'data: {"a":1}\r\rdata: [DONE]\r\r', ['{"a":1}', '[DONE]']],
  ['mixed line ends', 'data: 1\r\n\ndata: 2\n\r\ndata: 3\r\n\r', ['1', '2', '3']],
  ['comments and other fields [U-13, T-32]', ': OPENROUTER PROCESSING\n\nevent: x\nid: 7\nretry: 1\ndata: 1\n\n:\n\n', ['1']],
  ['blank lines first', '\n\n\ndata: 1\n\n', ['1']],
  ['[DONE] as the second line of an event', 'data: {"a":1}\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
  ['events without a blank line between them', 'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n\n', ['{"a":1}', '{"b":2}', '[DONE]']],
  ['[DONE] as the second line of an error', 'event: error\ndata: {"code":500}\ndata: [DONE]\n\n', ['{"error":{"code":500}}', '[DONE]']],
  ['several data lines', 'data: {"a":\ndata: 1}\n\n', ['{"a":\n1}']],
  ['empty data', 'data\n\ndata:\n\n', ['', '']],
  ['a byte order mark', '\ufeffdata: 1\n\n', ['1']],
  ['a last event without its blank line [T-32]', 'data: 1\n\ndata: [DONE]', ['1', '[DONE]']],
  ['a field that only begins like data', 'database: 1\n\n', []],
  ['a bare line of JSON [U-11]', 'data: {"a":1}\n\n{"error":"boom"}\n', ['{"a":1}', '{"error":"boom"}']],
  ['error as a field name [U-11]', 'error: {"code":500}\n\nerror: bad\n\n', ['{"error":{"code":500}}', '{"error":"bad"}']],
  ['a bare line of a list [U-11]', '[{"error":"boom"}]\n[DONE]\n', ['[{"error":"boom"}]']],
  [
    'an event named error, whatever its data [U-11]',
    'event: error\ndata: {"code":500}\n\nevent:error\ndata: bad\n\ndata:\nevent: error\n\nevent: error\ndata: ""\n\ndata: 1\n\n',
    ['{"error":{"code":500}}', '{"error":"bad"}', '{"error":"unspecified error"}', '{"error":"\\"\\""}', '1'],
  ],
  ['an error in several lines', 'event: error\ndata: {"code":\ndata: 1}\n\n', ['{"error":{"code":\n1}}']],
  ['the last name of an event counts', 'event: error\nevent: x\ndata: 1\n\nevent: errors\ndata: 2\n\n', ['1', '2']],
  ['an error without data is none', 'event: error\n\ndata: {"a":1}\n\n', ['{"a":1}']],
  ['nothing', '', []],
])('%s', (_name, input, payloads) => {
  expect(parse([input])).toEqual(payloads);
});

const ANYTHING =
  'data: {"t":"héllo 漢字 👩‍👩‍👧"}\n\n: x\r\ndata:one\ndata: two\r\n\r\nevent: e\rdata: 3\r\revent: error\ndata: {}\n\nerror: no\n\ndata: [DONE]';

test('every split in two parses the same [U-14, T-31]', () => {
  const bytes = Buffer.from(ANYTHING);
  const whole = parse([bytes]);
  expect(whole).toEqual(['{"t":"héllo 漢字 👩‍👩‍👧"}', 'one\ntwo', '3', '{"error":{}}', '{"error":"no"}', '[DONE]']);
  for (let at = 0; at <= bytes.length; at++) expect(parse([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
});

test('byte by byte, and any number of splits', () => {
  const bytes = Buffer.from(ANYTHING);
  const whole = parse([bytes]);
  expect(parse([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
      const points = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      expect(parse(points.slice(1).map((end, i) => bytes.subarray(points[i], end)))).toEqual(whole);
    }),
    { numRuns: 300 },
  );
});

test('garbage never throws and never hangs', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 6 }), (chunks) => {
      expect(Array.isArray(parse(chunks.map((chunk) => Buffer.from(chunk))))).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test('a line or event beyond the limit is refused, also in pieces [fault-event-size]', () => {
  const failure = { kind: 'limit', code: 'upstream_error' };
  expect(() => parse([`data: ${'x'.repeat(200)}`], 100)).toThrow(expect.objectContaining(failure));
  expect(() => parse(['data: ', 'x'.repeat(60), 'x'.repeat(60)], 100)).toThrow(expect.objectContaining(failure));
  expect(() => parse(['data: 1234567890\n'.repeat(20)], 100)).toThrow(expect.objectContaining(failure));
  expect(parse([`data: ${'x'.repeat(50)}\n\n`.repeat(20)], 100)).toHaveLength(20);
});

test('an event of very short lines takes at most twice the memory that is counted [fault-memory]', () => {
  const parsers = Array.from({ length: 4 }, () => new SseParser());
  const before = usedMemory();
  const block = Buffer.from('data:\n'.repeat(1_000));
  for (const parser of parsers) for (let n = 0; n < 1_000; n++) parser.push(block, () => {});
  const used = usedMemory() - before;
  const counted = parsers.reduce((bytes, parser) => bytes + parser.heldBytes, 0);
  expect(counted).toBe(4_000_000);
  expect(used).toBeLessThan(3 * counted);
});

test('only the incomplete event of a block is kept in memory', () => {
  const parser = new SseParser(16 * 1024 * 1024);
  const before = usedMemory();
  const pushBlock = (): void => parser.push(Buffer.from(`: ${'x'.repeat(8_000_000)}\n\ndata: {"a":"a beginning"\n`), () => {});
  pushBlock();
  expect(usedMemory() - before).toBeLessThan(6_000_000);
  const payloads: string[] = [];
  parser.push(Buffer.from('data: }\n\n'), (payload) => payloads.push(payload));
  expect(payloads).toEqual(['{"a":"a beginning"\n}']);
});

test('events before a line that is too long are passed on, however the bytes are cut', () => {
  const bytes = Buffer.from(`data: {"a":1}\n\ndata: ${'x'.repeat(200)}\n\ndata: {"b":2}\n\n`);
  for (let at = 0; at <= bytes.length; at++) {
    expect(parseUntilFailure([bytes.subarray(0, at), bytes.subarray(at)], 100)).toEqual({ payloads: ['{"a":1}'], failure: 'limit' });
  }
});

const garbage = ['\n', '\r', '\r\n', 'data:', 'data: {', '}', 'data', ':', 'error: x', 'event: error', '{"a":', '\ufeff', '🙂'].map(
  (text) => Buffer.from(text),
);
const payload = fc.oneof(
  fc.constantFrom('[DONE]', '', '{"a":1}', '{"t":"漢字 🙂"}', 'x\ny', '\ufeff', ' x', ':', 'data: x'),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.json({ maxDepth: 1 }),
);

testCases(
  'any payloads, in any style, under any limit, are the same however the bytes are cut [U-14, T-31]',
  { usual: 500, long: 50_000 },
  fc.record({
    payloads: fc.array(payload, { maxLength: 8 }),
    style: sseStyles,
    cuts: fc.array(fc.noBias(fc.nat()), { maxLength: 20 }),
    lineBytesMax: fc.oneof(fc.integer({ min: 10, max: 100 }), fc.constant(100_000)),
  }),
  ({ payloads, style, cuts, lineBytesMax }) => {
    const bytes = encoded(payloads, style);
    const whole = parseUntilFailure([bytes], lineBytesMax);
    expect(parseUntilFailure(cutAt(bytes, cuts), lineBytesMax)).toEqual(whole);
    expect(
      parseUntilFailure(
        [...bytes].map((byte) => Buffer.from([byte])),
        lineBytesMax,
      ),
    ).toEqual(whole);
  },
);

testCases(
  'any bytes are the same however they are cut',
  { usual: 500, long: 50_000 },
  fc.tuple(
    fc.array(fc.oneof(fc.constantFrom(...garbage), fc.uint8Array({ maxLength: 8 })), { maxLength: 20 }),
    fc.array(fc.noBias(fc.nat()), { maxLength: 12 }),
  ),
  ([pieces, cuts]) => {
    const bytes = Buffer.concat(pieces);
    expect(parseUntilFailure(cutAt(bytes, cuts), 60)).toEqual(parseUntilFailure([bytes], 60));
  },
);

/** Measures live memory, after a garbage collection. */
function usedMemory(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function parseUntilFailure(chunks: Buffer[], lineBytesMax: number): { payloads: string[]; failure?: string } {
  const parser = new SseParser(lineBytesMax);
  const payloads: string[] = [];
  const take = (payload: string) => payloads.push(payload);
  try {
    for (const chunk of chunks) parser.push(chunk, take);
    parser.end(take);
    return { payloads };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return { payloads, failure: error.kind };
  }
}
