import fc from 'fast-check';
import { ERROR_CODES } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Tool } from '#inference/tool.js';
import type { Usage } from '#inference/usage.js';
import { damagedBytes, damagedJson, damagedJsonBytes } from '#testing/damaged-json.js';
import { testCases } from '#testing/long-run.js';
import { streamEvents } from '#testing/stream-events.js';
import { readArchives } from '#testing/text-archive.js';
import { UpstreamFailure } from '../src/failures/upstream-failure.js';
import { SseParser } from '../src/transport/sse-parser.js';
import type { UpstreamAdapter, UpstreamCall } from '../src/upstreams/upstream-adapter.js';
import { makeCall } from './conformance.js';
import { grammarFault } from './event-grammar.js';
import { cutAt, encoded, sseStyles } from './sse-bytes.js';
import { foldEvents, writeStream } from './upstream-writer.js';

/**
 * Tests fixtures with damaged JSON, framing and bytes: events must follow the grammar, with an end or an `UpstreamFailure`, and be the
 * same however the bytes are cut. Also tests well-formed replies of any content: nothing is lost.
 */
export function describeDamagedReplies(adapter: UpstreamAdapter, fixtures: string): void {
  const files = [...readArchives(fixtures)];
  const read = (extension: string) => files.filter(([name]) => name.endsWith(extension)).map(([, bytes]) => bytes);
  const streams = read('.sse').map(parsePayloads);
  const bodies = read('.body').flatMap((body) => jsonOr(body.toString().trim()) ?? []);
  const calls = callsFor(true);

  describe(`${adapter.kind}: any reply`, () => {
    testCases(
      'any legal stream in any framing says the same however it is cut, and nothing is lost [U-14, T-31]',
      { usual: 200, long: 20_000 },
      fc.tuple(streamEvents({ customTools: adapter.kind === 'openai-responses' }), sseStyles, cuts),
      ([events, style, points]) => {
        const bytes = encoded(writeStream(adapter.kind, events), style);
        const call = makeCall(true);
        const outcome = readStream(adapter, call, [bytes]);
        expectSame(readStream(adapter, call, cutAt(bytes, points)), outcome);
        expect({ ...outcome, events: foldEvents(outcome.events) }).toEqual({ events: withCounts(adapter.kind, foldEvents(events)) });
      },
    );

    testCases(
      'a damaged stream ends in events and an end, or a failure, the same however it is cut',
      { usual: 300, long: 50_000 },
      fc.tuple(damagedJson(streams), sseStyles, calls, cuts),
      ([payloads, style, call, points]) => expectSameCut(adapter, call, encoded(listTexts(payloads), style), points),
    );

    const bytes = fc.tuple(fc.constantFrom(...streams), sseStyles).map(([payloads, style]) => encoded(listTexts(payloads), style));
    testCases(
      'so does one with damaged bytes',
      { usual: 300, long: 30_000 },
      fc.tuple(damagedBytes(bytes, SSE_TOKENS), calls, cuts),
      ([damaged, call, points]) => expectSameCut(adapter, call, damaged, points),
    );

    testCases(
      'a value deeper than a stack, wherever one can be, ends in the same',
      { usual: 100, long: 5_000 },
      fc.tuple(fc.constantFrom(...streams), fc.nat(), calls),
      ([payloads, at, call]) =>
        void readStream(adapter, call, [
          Buffer.from(
            listTexts(payloads)
              .map(deepened(at))
              .map((text) => `data: ${text}\n\n`)
              .join(''),
          ),
        ]),
    );

    testCases(
      'a damaged plain reply ends in events and an end, or a failure',
      { usual: 300, long: 20_000 },
      fc.tuple(damagedJsonBytes(bodies), callsFor(false)),
      ([body, call]) => void readOutcome((events) => adapter.parseReply(body.toString(), call, events)),
    );

    testCases('any refusal is one of ours', { usual: 200, long: 10_000 }, fc.tuple(refusals, calls), ([reply, call]) => {
      const failure = adapter.parseError(reply, call);
      expect(failure).toBeInstanceOf(UpstreamFailure);
      expectFit(failure);
    });
  });
}

const DEEP = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;

/** Returns a function that replaces one value of a payload. */
function deepened(at: number): (payload: string) => string {
  return (payload) => {
    const document = jsonOr(payload);
    let count = 0;
    const replacing = (chosen: number) => (_key: string, value: unknown) => (count++ === chosen ? 'deep' : value);
    JSON.stringify(document, replacing(-1));
    const chosen = at % count;
    count = 0;
    return document === undefined ? payload : JSON.stringify(document, replacing(chosen)).replace('"deep"', DEEP);
  };
}

const SSE_TOKENS = [
  ...['\n', '\r', '\r\n', '\n\n', ':', ': keep-alive\n\n', 'data:', 'data: ', 'data: [DONE]\n\n', 'data\n\n', 'event: error\n', 'id: 1\n'],
  ...['\0', '\xef\xbb\xbf', '\xff', '\xf0\x9f', '{', '}', '"', '\\', '{"error":"boom"}\n', 'error: no\n\n', 'retry: 0\n\n', 'null'],
  ...['data: null\n\n', 'data: []\n\n', 'data: 1\n\n', 'data: "x"\n\n', 'data: {}\n\n', 'data: {"error":{"message":null,"code":{}}}\n\n'],
];

const cuts = fc.array(fc.noBias(fc.nat()), { maxLength: 12 });

const TOOLS: Tool[] = [
  { key: { name: 'get_weather' }, wireName: 'get_weather', kind: 'function', parameters: { type: 'object' } },
  { key: { name: 'close', namespace: 'agents' }, wireName: 'agents__close', kind: 'function' },
  { key: { name: 'patch' }, wireName: 'patch', kind: 'custom' },
];

function callsFor(stream: boolean): fc.Arbitrary<UpstreamCall> {
  return fc
    .record({ tools: fc.subarray(TOOLS), thinkTags: fc.boolean(), stop: fc.constantFrom<string[] | undefined>(undefined, ['END']) })
    .map(({ tools, thinkTags, stop }) => makeCall(stream, { tools, ...(stop && { stop }) }, { thinkTags }));
}

const errorBodies = [
  { error: { message: 'Rate limit reached. Please try again in 20s.', type: 'rate_limit', code: 'rate_limit_exceeded', param: null } },
  { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' }, request_id: 'r' },
  { error: 'the prompt is too long: 9 tokens > 8 maximum' },
  [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'maximum context length is 8 tokens' } }],
  { object: 'error', message: 'no', code: 500 },
  { base_resp: { status_code: 1002, status_msg: 'rate limit' } },
  { detail: [{ loc: ['body', 'messages'], msg: 'field required', type: 'value_error' }] },
];
const refusals = fc.record({
  status: fc.oneof(fc.constantFrom(400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529), fc.integer({ min: 100, max: 999 })),
  headers: fc.dictionary(
    fc.constantFrom('retry-after', 'retry-after-ms', 'x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'),
    fc.oneof(
      fc.constantFrom('0', '1', '-1', '1e9', '20s', '6m0s', '250ms', 'Wed, 21 Oct 2125 07:28:00 GMT', 'never', ''),
      fc.stringMatching(/^[\d.smh ]{1,30}$/),
    ),
  ),
  body: fc.oneof(
    damagedJsonBytes(errorBodies).map((bytes) => bytes.toString()),
    // Words of the refusal patterns, in any order.
    fc
      .array(
        fc.constantFrom(...'try again in retry after context length maximum tokens exceeds image input policy 20 s ms " , \n'.split(' ')),
        {
          maxLength: 2_000,
        },
      )
      .map((words) => words.join(' ')),
  ),
});

interface Outcome {
  events: StreamEvent[];
  failure?: { kind: string; code: string };
}

function expectSameCut(adapter: UpstreamAdapter, call: UpstreamCall, bytes: Buffer, points: number[]): void {
  expectSame(readStream(adapter, call, cutAt(bytes, points)), readStream(adapter, call, [bytes]));
}

function expectSame(actual: Outcome, expected: Outcome): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
}

/** Reads a stream like `call-upstream.ts`, up to its end. */
function readStream(adapter: UpstreamAdapter, call: UpstreamCall, chunks: Buffer[]): Outcome {
  return readOutcome((events) => {
    const [lines, parser] = [new SseParser(), adapter.openStream(call)];
    const take = (payload: string): void => parser.push(payload, events);
    for (const chunk of chunks) if (!parser.done) lines.push(chunk, take);
    if (!parser.done) lines.end(take);
    parser.end(events);
  });
}

function readOutcome(read: (events: StreamEvent[]) => void): Outcome {
  const events: StreamEvent[] = [];
  let failure: UpstreamFailure | undefined;
  try {
    read(events);
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    expectFit(error);
    if (events.at(-1)?.type !== 'completion-finish') failure = error;
  }
  const fault = grammarFault(events, failure === undefined ? 'terminal' : 'open');
  if (fault !== undefined) throw new Error(`${fault}: ${JSON.stringify(events)}`);
  for (const event of events) {
    if (event.type === 'usage-report') expectPossible(event.usage);
    if (event.type === 'completion-finish') expect(FINISH_REASONS).toContain(event.reason);
  }
  const plain: StreamEvent[] = JSON.parse(JSON.stringify(events).replace(/"call_[0-9a-f]{32}(?="|-sig-)/g, '"<generated>'));
  return { events: plain, ...(failure && { failure: { kind: failure.kind, code: failure.code } }) };
}

const FINISH_REASONS = ['stop', 'stop-sequence', 'length', 'tool-calls', 'content-filter'];

function expectPossible(usage: Usage): void {
  const { promptTokens, cachedTokens, outputTokens, reasoningTokens } = usage;
  const counts = [promptTokens, cachedTokens, outputTokens, reasoningTokens];
  const possible =
    counts.every((count) => Number.isSafeInteger(count) && count >= 0) && cachedTokens <= promptTokens && reasoningTokens <= outputTokens;
  if (!possible) throw new Error(`No such usage: ${JSON.stringify(usage)}`);
}

/** Expects a failure that may be sent to a client and logged. */
function expectFit({ code, message, detail, retryAfterSeconds }: UpstreamFailure): void {
  const after = retryAfterSeconds ?? 1;
  const fit = code in ERROR_CODES && message !== '' && detail.length <= 201 && Number.isInteger(after) && after >= 1 && after <= 60;
  if (!fit) throw new Error(`Not fit for clients: ${JSON.stringify({ code, message, detail, retryAfterSeconds })}`);
}

/** Returns the payloads of a fixture, parsed when they are JSON. */
/** Converse counts reasoning among the output alone. */
function withCounts(kind: UpstreamAdapter['kind'], said: ReturnType<typeof foldEvents>): ReturnType<typeof foldEvents> {
  return kind === 'bedrock-converse' && said.usage !== undefined ? { ...said, usage: { ...said.usage, reasoningTokens: 0 } } : said;
}

function parsePayloads(bytes: Buffer): unknown[] {
  const payloads: string[] = [];
  const parser = new SseParser();
  parser.push(bytes, (payload) => payloads.push(payload));
  parser.end((payload) => payloads.push(payload));
  return payloads.map((payload) => jsonOr(payload) ?? payload);
}

function listTexts(payloads: unknown): string[] {
  const list = Array.isArray(payloads) ? payloads : [payloads];
  return list.map((payload) => (typeof payload === 'string' ? payload : (JSON.stringify(payload) ?? '')));
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
