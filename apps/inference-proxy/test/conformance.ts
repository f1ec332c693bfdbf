import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { CAPABILITY_DEFAULTS } from '#contracts/upstream-defaults.js';
import type { InferenceRequest } from '#inference/request.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { readArchives } from '#testing/text-archive.js';
import { UpstreamFailure } from '../src/failures/upstream-failure.js';
import { SseParser } from '../src/transport/sse-parser.js';
import type { RenderedRequest, UpstreamAdapter, UpstreamCall } from '../src/upstreams/upstream-adapter.js';
import { grammarFault } from './event-grammar.js';

/** Default capabilities of an upstream. */
export const CAPABILITIES: UpstreamCapabilities = CAPABILITY_DEFAULTS;

/** Returns the body of a request as its upstream parses it. */
export function sent({ body }: RenderedRequest): Record<string, unknown> {
  return JSON.parse(JSON.stringify(body));
}

/** Content of `name.expected.json` in an archive, written by hand for `name.sse` (a stream, byte for byte) or `name.body` (a plain reply). */
interface Expected {
  request?: Partial<InferenceRequest>;
  capabilities?: Partial<UpstreamCapabilities>;
  /** An id that the adapter generated is written `<generated>`. */
  events: StreamEvent[];
  /** Absent: the stream ends well. */
  failure?: { kind: string; code: string };
}

interface Outcome {
  events: StreamEvent[];
  failure?: { kind: string; code: string };
}

/** The suite that every upstream adapter passes, on the replies in the archives of its own `__fixtures__`. */
export function describeUpstreamAdapter(adapter: UpstreamAdapter, folder: string): void {
  const files = readArchives(folder);
  const named = (extension: string): string[] =>
    [...files.keys()].filter((file) => file.endsWith(extension)).map((file) => file.slice(0, -extension.length));
  const readBytes = (file: string): Buffer => {
    const bytes = files.get(file);
    if (bytes === undefined) throw new Error(`There is no ${file} in the archives of ${folder}.`);
    return bytes;
  };
  const readExpected = (name: string): Expected => JSON.parse(readBytes(`${name}.expected.json`).toString());

  describe(`${adapter.kind}: streams`, () => {
    const names = named('.sse');
    test('there are fixtures', () => expect(names.length).toBeGreaterThan(0));

    test.each(names)('%s', (name) => {
      const { request, capabilities, ...outcome } = readExpected(name);
      expect(readStream(adapter, makeCall(true, request, capabilities), [readBytes(`${name}.sse`)])).toEqual(outcome);
    });

    test.each(names)('%s: the same however it is cut, and with any line ends [U-14, T-31]', (name) => {
      const { request, capabilities, ...outcome } = readExpected(name);
      const call = makeCall(true, request, capabilities);
      const bytes = readBytes(`${name}.sse`);
      const check = (chunks: Buffer[]): void => expectSame(readStream(adapter, call, chunks), outcome);
      for (let at = 1; at < bytes.length; at++) check([bytes.subarray(0, at), bytes.subarray(at)]);
      check(Array.from(bytes, (byte) => Buffer.from([byte])));
      for (const lineEnd of ['\r\n', '\r']) {
        const other = Buffer.from(bytes.toString().replace(/\r\n|\n/g, lineEnd));
        check([other]);
        check(thirds(other));
      }
    });

    test.each(names)('%s: ended early, it is a failure or the very same end [T-30]', (name) => {
      const { request, capabilities, events, failure } = readExpected(name);
      const call = makeCall(true, request, capabilities);
      const bytes = readBytes(`${name}.sse`);
      for (let end = 0; end < bytes.length; end++) {
        const cut = readStream(adapter, call, [bytes.subarray(0, end)]);
        if (cut.failure === undefined) {
          expectSame({ events: withoutUsage(cut.events), failure }, { events: withoutUsage(events) });
        }
      }
    });
  });

  const bodies = named('.body');
  if (bodies.length > 0) {
    test.each(bodies)(`${adapter.kind}: plain reply %s`, (name) => {
      const { request, capabilities, ...outcome } = readExpected(name);
      const call = makeCall(false, request, capabilities);
      expect(readOutcome((events) => adapter.parseReply(readBytes(`${name}.body`).toString(), call, events))).toEqual(outcome);
    });
  }
}

function readStream(adapter: UpstreamAdapter, call: UpstreamCall, chunks: Buffer[]): Outcome {
  return readOutcome((events) => {
    const [lines, parser] = [new SseParser(), adapter.openStream(call)];
    const take = (payload: string): void => parser.push(payload, events);
    for (const chunk of chunks) lines.push(chunk, take);
    lines.end(take);
    parser.end(events);
  });
}

/** Like `toEqual`, but fast for the thousands of equal cases. */
function expectSame(actual: Outcome, expected: Outcome): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
}

function readOutcome(read: (events: StreamEvent[]) => void): Outcome {
  const events: StreamEvent[] = [];
  try {
    read(events);
    assertGrammar(events, 'terminal');
    return { events: events.map(withoutGeneratedId) };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    assertGrammar(events, 'open');
    return { events: events.map(withoutGeneratedId), failure: { kind: error.kind, code: error.code } };
  }
}

function assertGrammar(events: StreamEvent[], ending: 'terminal' | 'open'): void {
  const fault = grammarFault(events, ending);
  if (fault !== undefined) throw new Error(fault);
}

export function makeCall(
  stream: boolean,
  request: Partial<InferenceRequest> = {},
  capabilities: Partial<UpstreamCapabilities> = {},
): UpstreamCall {
  return {
    request: {
      model: 'test-model',
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
      tools: [],
      output: { kind: 'text' },
      stream,
      hints: {},
      ...request,
    },
    model: 'upstream-model',
    baseUrl: 'http://10.1.2.3:8000/v1',
    outputTokensMax: 256,
    promptTokensEstimate: 1,
    accountId: '0190a6f0-7c1e-7000-8000-00000000000a',
    stream,
    capabilities: { ...CAPABILITIES, ...capabilities },
  };
}

function withoutGeneratedId(event: StreamEvent): StreamEvent {
  if (event.type !== 'tool-call-start') return event;
  return { ...event, callId: event.callId.replace(/^call_[0-9a-f]{32}(?=$|-sig-)/, '<generated>') };
}

/** Drops usage, which may follow the finish and be cut off. */
function withoutUsage(events: StreamEvent[]): StreamEvent[] {
  return events.filter((event) => event.type !== 'usage-report');
}

function thirds(bytes: Buffer): Buffer[] {
  const size = Math.ceil(bytes.length / 3);
  return [bytes.subarray(0, size), bytes.subarray(size, 2 * size), bytes.subarray(2 * size)];
}
