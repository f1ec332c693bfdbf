import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { ERROR_CODES, type ErrorCode, GatewayError } from '#inference/errors.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { collectCompletion } from '#testing/collect-completion.js';
import { testCases } from '#testing/long-run.js';
import { replaceValue } from '#testing/replace-value.js';
import { inBatches, streamEvents } from '#testing/stream-events.js';
import { readArchives } from '#testing/text-archive.js';
import type { ParsedRequest, ProtocolAdapter, ReplyContext } from '../../src/protocols/protocol-adapter.js';
import { describeDamagedBodies, parsedOrRefused, throughText } from './conformance-bodies.js';
import { findBody, type GoldenRequest, type Refusal, readJson, readReplies, readRequests } from './conformance-fixtures.js';
import { type ContinueWith, describeHistory } from './conformance-history.js';

/** One server-sent event, not a comment. */
export interface SseFrame {
  event?: string;
  data: string;
}

/** A streamed reply as a client reads it: the body of the equivalent plain reply, or the error that ended it. */
export type StreamedReply = { reply: unknown } | { error: unknown };

interface ConformanceSubject<Parsed extends ParsedRequest> {
  adapter: ProtocolAdapter<Parsed>;
  /**
   * The adapter's folder of fixtures. Its folders hold text archives:
   * `requests`: `<name>.json`, `{ body, parsed }`. `minimal` and `streamed` are required; the golden replies answer `streamed`.
   * `refusals.json`: `[{ rule, change, code, param }]`, each a change to the body of `minimal`.
   * `replies`: `<name>.json` and `<name>.sse`, the replies for `<name>.events.jsonl` of `__fixtures__/replies.txtar` next to this file.
   * `events`: `<name>.events.jsonl`, events that only this format renders, if any.
   */
  fixtures: string;
  /** Converts a parsed request to the form of its fixture, if they differ. */
  readable?(parsed: Parsed): unknown;
  /** All optional fields of a body. Each may be null. */
  optionalFields: readonly string[];
  /** A strict client of the format. Joins a stream and throws when it breaks the format's grammar. */
  readStream(frames: readonly SseFrame[]): StreamedReply;
  continueWith: ContinueWith;
  /** True for the formats with custom tools. */
  customTools?: boolean;
  /** True for the format with namespaces of tools. */
  namespaces?: boolean;
}

const REPLY: ReplyContext = {
  id: '7hG2kQ9xWvB4',
  requestId: 'req_7hG2kQ9xWvB4',
  createdSeconds: 1_760_000_000,
  nowSeconds: () => 1_760_000_002,
  model: 'sim-fast',
};

/** Defines the tests that every client format must pass. Each adapter's test runs them on its fixtures. */
export function describeConformance<Parsed extends ParsedRequest>(subject: ConformanceSubject<Parsed>): void {
  describe(`${subject.adapter.name}: conformance`, () => {
    const { adapter } = subject;
    const requests = readRequests(subject.fixtures);
    const minimal = findBody(requests, 'minimal');
    const streamed = adapter.parseRequest(findBody(requests, 'streamed'));
    describeRequests(subject, requests, minimal);
    const bodies = requests.map(({ body }) => body);
    describeDamagedBodies(adapter, bodies, (parsed) => expectRendered(adapter, parsed));
    describeErrors(adapter);
    describeGoldenReplies(subject, streamed);
    describeAnyStream(subject, streamed);
    const tools = { customTools: subject.customTools ?? false, namespaces: subject.namespaces ?? false };
    describeHistory(adapter, findBody(requests, 'streamed'), REPLY, subject.continueWith, tools);
  });
}

function describeRequests<Parsed extends ParsedRequest>(
  { adapter, fixtures, optionalFields, readable = (parsed) => parsed }: ConformanceSubject<Parsed>,
  requests: GoldenRequest[],
  minimal: object,
): void {
  test.each(requests)('request $name', ({ body, parsed }) => {
    expect(readable(adapter.parseRequest(deepFreeze(body)))).toEqual(parsed);
  });

  test.each(readJson<Refusal[]>(join(fixtures, 'refusals.json')))('refuses: $rule', ({ change, code, param }) => {
    expect(catchRefusal(() => adapter.parseRequest({ ...minimal, ...change }))).toEqual({ code, param, status: ERROR_CODES[code].status });
  });

  test('null is absent in every optional field [C-1, R-1e, T-40]', () => {
    const nulls = Object.fromEntries(optionalFields.map((field) => [field, null]));
    expect(adapter.parseRequest({ ...nulls, ...minimal })).toEqual(adapter.parseRequest(minimal));
    for (const field of optionalFields) {
      expect(adapter.parseRequest({ ...minimal, [field]: null })).toEqual(adapter.parseRequest(minimal));
    }
  });

  test('a body of 128 levels is accepted, a deeper one is refused, in any field', () => {
    const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    expect(adapter.parseRequest({ ...minimal, unheard_of: nested(127) })).toEqual(adapter.parseRequest(minimal));
    for (const field of ['metadata', 'messages', 'tools', 'unheard_of']) {
      for (const levels of [128, 5_000]) {
        const refusal = catchRefusal(() => adapter.parseRequest({ ...minimal, [field]: nested(levels) }));
        expect(refusal).toEqual({ code: 'invalid_request', status: 400 });
      }
    }
  });

  test.each([null, undefined, 5, 'text', true, [], [minimal]])('a body that is not an object is refused: %j', (body) => {
    expect(catchRefusal(() => adapter.parseRequest(body))).toEqual({ code: 'invalid_request', status: 400 });
  });

  test('`__proto__` and similar names are unknown fields', () => {
    const poisoned = JSON.parse(`{"__proto__":{"stream":true},"constructor":{},"toString":1,${JSON.stringify(minimal).slice(1)}`);
    expect(adapter.parseRequest(poisoned)).toEqual(adapter.parseRequest(minimal));
    expect(({} as Record<string, unknown>).stream).toBeUndefined();
  });

  testCases('any JSON is parsed or refused with a GatewayError', { usual: 100, long: 5_000 }, fc.jsonValue(), (body) => {
    parsedOrRefused(adapter, () => throughText(body));
  });

  const bodies = fc.constantFrom(...requests.map(({ body }) => body));
  const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(null, '', 'text', 0, -1, 1.5, 1e300, true, [], {}, [null], [{}]));
  testCases(
    'a valid body with one value replaced is parsed or refused, and the refusal names a field [error-invalid-request]',
    { usual: 500, long: 20_000 },
    fc.tuple(bodies, fc.nat(), value),
    ([body, position, replacement]) =>
      void parsedOrRefused(adapter, () => throughText(replaceValue(body, position, replacement)), 'names a field'),
  );
}

/** Checks that replies to an accepted request, with a call of its first tool, are valid JSON, plain and streamed. */
function expectRendered<Parsed extends ParsedRequest>(adapter: ProtocolAdapter<Parsed>, parsed: Parsed): void {
  const [tool] = parsed.request.tools;
  const events: StreamEvent[] = [
    { type: 'reasoning-delta', text: 'Hm.' },
    { type: 'text-delta', text: 'Hello.' },
    { type: 'tool-call-start', index: 0, callId: 'call_1', tool: tool?.key ?? { name: 'add' }, kind: tool?.kind ?? 'function' },
    { type: 'tool-call-delta', index: 0, text: '{"a":1}' },
    { type: 'tool-call-end', index: 0 },
    {
      type: 'usage-report',
      usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 2, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
    },
    { type: 'completion-finish', reason: 'tool-calls' },
  ];
  JSON.parse(adapter.renderCompletion(REPLY, parsed, collectCompletion(events)));
  for (const { data } of readFrames(streamText(adapter, parsed, [events]))) if (data !== '[DONE]') JSON.parse(data);
}

function describeErrors(adapter: ProtocolAdapter): void {
  test.each(Object.keys(ERROR_CODES) as ErrorCode[])('error %s renders as one JSON object without its cause', (code) => {
    const error = new GatewayError(code, 'What "happened".\nAnd why.', { param: 'model', cause: new Error('the secret cause') });
    const rendered = adapter.renderError(error, REPLY.requestId);
    expect(JSON.parse(rendered).error).toMatchObject({ message: expect.stringContaining(error.message), type: expect.any(String) });
    expect(rendered).not.toMatch(/secret cause|stack/);
  });
}

function describeGoldenReplies<Parsed extends ParsedRequest>(subject: ConformanceSubject<Parsed>, streamed: Parsed): void {
  const { adapter, fixtures } = subject;
  const golden = readArchives(join(fixtures, 'replies'));
  test.each(readReplies(fixtures))('reply $name', ({ name, batches }) => {
    expect(streamText(adapter, streamed, batches)).toBe(golden.get(`${name}.sse`)?.toString());
    const ending = batches.flat().at(-1);
    if (ending?.type !== 'completion-finish') return;
    const plain = adapter.renderCompletion(REPLY, streamed, collectCompletion(batches.flat()));
    // Compares values and their order. Text that a model wrote as JSON may have other white space.
    expect(JSON.stringify(JSON.parse(plain))).toBe(JSON.stringify(JSON.parse(String(golden.get(`${name}.json`)))));
  });
}

function describeAnyStream<Parsed extends ParsedRequest>(subject: ConformanceSubject<Parsed>, streamed: Parsed): void {
  const { adapter, readStream } = subject;
  const tools = { customTools: subject.customTools ?? false, namespaces: subject.namespaces ?? false };

  testCases(
    'any valid stream in any batches is read as the plain reply [events-only-streams, messages-event-names, H-7, C-30, C-31, R-8, M-24, T-21]',
    { usual: 100, long: 40_000 },
    fc.tuple(inBatches(streamEvents(tools)), fc.string({ unit: 'binary', minLength: 1 })),
    ([{ events, batches }, model]) => {
      const reply = { ...REPLY, model };
      const plain = JSON.parse(adapter.renderCompletion(reply, streamed, collectCompletion(events)));
      const text = streamText(adapter, streamed, batches, { reply });
      expect(text).toBe(streamText(adapter, streamed, [events], { reply }));
      expectSame(readStream(readFrames(text)), { reply: plain });
    },
  );

  testCases(
    'keep-alives anywhere do not change the reply [events-only-streams, messages-event-ping]',
    { usual: 100, long: 20_000 },
    fc.tuple(inBatches(streamEvents(tools)), fc.constantFrom(1_000, 15_000, 90_000)),
    ([{ events, batches }, keepAliveMs]) => {
      const plain = JSON.parse(adapter.renderCompletion(REPLY, streamed, collectCompletion(events)));
      expectSame(readStream(readFrames(streamText(adapter, streamed, batches, { keepAliveMs }))), { reply: plain });
    },
  );

  testCases(
    'a failure at any time is read as an error and is the last frame [messages-event-error, C-34, T-29]',
    { usual: 100, long: 10_000 },
    inBatches(streamEvents({ ...tools, ending: 'failure' })),
    ({ batches }) => expect(readStream(readFrames(streamText(adapter, streamed, batches)))).toEqual({ error: expect.anything() }),
  );

  testCases(
    'a stream that is truncated anywhere is not a complete reply [messages-event-stop, chat-event-done, T-30]',
    { usual: 100, long: 10_000 },
    fc.tuple(streamEvents(tools), fc.nat()),
    ([events, position]) => {
      const frames = readFrames(streamText(adapter, streamed, [events]));
      expect(() => readStream(frames.slice(0, position % frames.length))).toThrow();
    },
  );
}

/** Like `toEqual`, but cheap when the values are equal. */
function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected);
}

interface StreamTextOptions {
  reply?: ReplyContext;
  /** Sends a keep-alive for this much silence before every batch and before the end. */
  keepAliveMs?: number;
}

/** Renders a stream as the pipeline does: content in batches, the terminal event as `finish` or `fail`. */
function streamText<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  parsed: Parsed,
  batches: readonly StreamEvent[][],
  { reply = REPLY, keepAliveMs }: StreamTextOptions = {},
): string {
  const renderer = adapter.renderStream(reply, parsed);
  const keepAlive = () => (keepAliveMs === undefined ? '' : renderer.keepAlive(keepAliveMs));
  const ending = batches.flat().at(-1);
  const contents = batches.map((batch) => batch.filter((event) => event !== ending));
  const text = contents.map((batch) => keepAlive() + renderer.render(batch)).join('') + keepAlive();
  if (ending?.type === 'completion-failure') return text + renderer.fail(new GatewayError(ending.code, ending.message));
  const { finishReason, usage } = collectCompletion(batches.flat());
  return text + renderer.finish(finishReason, usage);
}

/** Splits a stream into frames. Each must be a comment, or an optional `event:` line and exactly one `data:` line. */
function readFrames(text: string): SseFrame[] {
  const blocks = text.split('\n\n');
  if (blocks.pop() !== '') throw new Error('The text does not end with a complete frame.');
  return blocks.filter((block) => !/^:[^\n]*$/.test(block)).map(readFrame);
}

function readFrame(block: string): SseFrame {
  const match = /^(?:event: ([a-z_.]+)\n)?data: ([^\r\n]+)$/.exec(block);
  const [, event, data] = match ?? [];
  if (data === undefined) throw new Error(`Not a frame: ${block}`);
  return event === undefined ? { data } : { event, data };
}

function catchRefusal(parse: () => unknown): { code: string; status: number; param?: string } {
  try {
    return { code: `none: ${JSON.stringify(parse())}`, status: 200 };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, status, param, message } = error;
    expect(message).toContain(param ?? '');
    return { code, status, ...(param !== undefined && { param }) };
  }
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}
