import fc from 'fast-check';
import { type ErrorCode, isErrorCode } from '#inference/errors.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { ToolKey } from '#inference/tool.js';
import type { Usage } from '#inference/usage.js';

export interface StreamEventsOptions {
  /** Terminal event of the stream. */
  ending?: 'finish' | 'failure';
  /** Include calls of custom tools. */
  customTools?: boolean;
  /** Include tools with a namespace. */
  namespaces?: boolean;
}

/**
 * Arbitrary legal streams by the grammar of `stream-event.ts`: interleaved calls, reasoning after text, text cut inside a surrogate pair,
 * arguments that are not JSON, interim usage. Every renderer must accept all of them.
 */
export function streamEvents(options: StreamEventsOptions = {}): fc.Arbitrary<StreamEvent[]> {
  return fc
    .record({
      opening: fc.option(fc.constant<StreamEvent>({ type: 'upstream-start', upstream: 'local' })),
      texts: fc.array(textEvent, { maxLength: 8 }),
      calls: fc.uniqueArray(call(options), { maxLength: 4, selector: ({ callId }) => callId }),
      order: fc.array(fc.nat(), { maxLength: 40 }),
      ending: ending(options.ending ?? 'finish'),
    })
    .map(({ opening, texts, calls, order, ending }) => [
      ...(opening === null ? [] : [opening]),
      ...weave(refusalsLast(texts), calls, order),
      ...ending,
    ]);
}

/** Turns text after a refusal into refusals. */
function refusalsLast(texts: StreamEvent[]): StreamEvent[] {
  const first = texts.findIndex(({ type }) => type === 'refusal-delta');
  return texts.map((event, index) =>
    first !== -1 && index > first && event.type === 'text-delta' ? { ...event, type: 'refusal-delta' } : event,
  );
}

/** Arbitrary batches of a stream, some empty. */
export function inBatches(events: fc.Arbitrary<StreamEvent[]>): fc.Arbitrary<{ events: StreamEvent[]; batches: StreamEvent[][] }> {
  return fc.tuple(events, fc.array(fc.nat(5), { maxLength: 30 })).map(([all, sizes]) => {
    const batches: StreamEvent[][] = [];
    let from = 0;
    for (const size of sizes) {
      batches.push(all.slice(from, from + size));
      from += size;
    }
    batches.push(all.slice(from));
    return { events: all, batches };
  });
}

const usage: fc.Arbitrary<Usage> = fc
  .record({ promptTokens: fc.nat(1_000_000), outputTokens: fc.nat(1_000_000), cached: fc.nat(100), reasoning: fc.nat(100) })
  .map(({ promptTokens, outputTokens, cached, reasoning }) => ({
    promptTokens,
    cachedTokens: Math.floor((promptTokens * cached) / 100),
    outputTokens,
    reasoningTokens: Math.floor((outputTokens * reasoning) / 100),
    promptSource: 'reported',
    outputSource: 'reported',
  }));

const awkwardText = fc.constantFrom('\n\n', 'data: [DONE]\n\n', '"}', '\\', '\u0000', '\u2028', '\r\n', '🙂', '\ud83d', '\ude42');
const text = fc.oneof(fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }), awkwardText);

const textEvent: fc.Arbitrary<StreamEvent> = fc.oneof(
  { weight: 4, arbitrary: text.map((text) => ({ type: 'text-delta' as const, text })) },
  { weight: 3, arbitrary: text.map((text) => ({ type: 'reasoning-delta' as const, text })) },
  { weight: 1, arbitrary: text.map((text) => ({ type: 'refusal-delta' as const, text })) },
  { weight: 1, arbitrary: usage.map((usage) => ({ type: 'usage-report' as const, usage })) },
);

interface Call {
  callId: string;
  tool: ToolKey;
  kind: 'function' | 'custom';
  pieces: string[];
}

const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const functionArguments = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map((value) => JSON.stringify(value)),
  fc.constantFrom('{}', '{"city":"Zürich 🙂"}', '{"big":123456789012345678901234567890}', '{"half":'),
);

function call(options: StreamEventsOptions): fc.Arbitrary<Call> {
  const key = options.namespaces ? fc.record({ name, namespace: fc.option(name, { nil: undefined }) }) : fc.record({ name });
  const kinds: fc.Arbitrary<'function' | 'custom'> = options.customTools ? fc.constantFrom('function', 'custom') : fc.constant('function');
  const callId = fc.stringMatching(/^call_[A-Za-z0-9]{1,12}$/);
  return kinds.chain((kind) =>
    fc.record({
      callId,
      tool: key,
      kind: fc.constant(kind),
      pieces: cut(kind === 'function' ? functionArguments : fc.string({ unit: 'binary' })),
    }),
  );
}

/** Cuts by UTF-16 units, also inside characters. No piece is empty. */
function cut(whole: fc.Arbitrary<string>): fc.Arbitrary<string[]> {
  return fc.tuple(whole, fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 12 })).map(([value, lengths]) => {
    const pieces: string[] = [];
    let rest = value;
    for (const length of lengths) {
      pieces.push(rest.slice(0, length));
      rest = rest.slice(length);
    }
    return [...pieces, rest].filter((piece) => piece !== '');
  });
}

/** Interleaves texts and calls by `order`. A call gets its index when it starts. */
function weave(texts: StreamEvent[], calls: Call[], order: number[]): StreamEvent[] {
  let started = 0;
  const tracks: Iterator<StreamEvent>[] = [texts.values(), ...calls.map((call) => callEvents(call, () => started++))];
  const events: StreamEvent[] = [];
  for (let turn = 0; tracks.length > 0; turn++) {
    const track = (order[turn % order.length] ?? 0) % tracks.length;
    const next = tracks[track]?.next();
    if (next === undefined || next.done) tracks.splice(track, 1);
    else events.push(next.value);
  }
  return events;
}

function* callEvents({ callId, tool, kind, pieces }: Call, takeIndex: () => number): Generator<StreamEvent> {
  const index = takeIndex();
  yield { type: 'tool-call-start', index, callId, tool, kind };
  for (const text of pieces) yield { type: 'tool-call-delta', index, text };
  yield { type: 'tool-call-end', index };
}

const finishReasons: FinishReason[] = ['stop', 'stop-sequence', 'length', 'tool-calls', 'content-filter'];
const failureCodes = ['upstream_error', 'upstream_timeout', 'model_capacity', 'model_unavailable', 'internal_error'].filter(isErrorCode);

function ending(kind: 'finish' | 'failure'): fc.Arbitrary<StreamEvent[]> {
  const terminal: fc.Arbitrary<StreamEvent> =
    kind === 'finish'
      ? fc.constantFrom(...finishReasons).map((reason) => ({ type: 'completion-finish' as const, reason }))
      : fc
          .constantFrom<ErrorCode>(...failureCodes)
          .map((code) => ({ type: 'completion-failure' as const, code, message: 'The model failed.' }));
  return fc.tuple(usage, terminal).map(([reported, last]) => [{ type: 'usage-report', usage: reported }, last]);
}
