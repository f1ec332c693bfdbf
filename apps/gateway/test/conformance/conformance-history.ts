import fc from 'fast-check';
import type { StreamEvent } from '#inference/stream-event.js';
import { collectCompletion } from '#testing/collect-completion.js';
import { testCases } from '#testing/long-run.js';
import { type StreamEventsOptions, streamEvents } from '#testing/stream-events.js';
import { parseJson } from '../../src/bodies/parse-json.js';
import type { ParsedRequest, ProtocolAdapter, ReplyContext } from '../../src/protocols/protocol-adapter.js';

/** What the format's clients do with a reply: the fields of the next request, in which the reply stands and each call has a result. */
export type ContinueWith = (reply: never) => object;

/** A reply that its client sends back unchanged is accepted: otherwise a conversation cannot go on. */
export function describeHistory<Parsed extends ParsedRequest>(
  adapter: ProtocolAdapter<Parsed>,
  body: object,
  context: ReplyContext,
  continueWith: ContinueWith,
  tools: StreamEventsOptions,
): void {
  const parsed = adapter.parseRequest(body);
  const nextRequest = (events: readonly StreamEvent[]): Parsed => {
    const reply = JSON.parse(adapter.renderCompletion(context, parsed, collectCompletion(events))) as never;
    return adapter.parseRequest(parseJson(Buffer.from(JSON.stringify({ ...body, ...continueWith(reply) }))));
  };

  testCases(
    'any reply is accepted as history [replies-as-history]',
    { usual: 100, long: 10_000 },
    streamEvents(tools),
    (events) => void nextRequest(events),
  );

  testCases(
    'a call keeps its arguments as history: any keys, and as many levels as a reply may have [replies-as-history]',
    { usual: 100, long: 10_000 },
    nestedArguments(),
    (argumentsText) => {
      const calls = nextRequest(callWith(argumentsText)).request.turns.flatMap((turn) =>
        turn.role === 'assistant' ? turn.parts.flatMap((part) => (part.type === 'tool-call' ? [part.argumentsText] : [])) : [],
      );
      expect(calls.map((text) => JSON.stringify(JSON.parse(text)))).toEqual([JSON.stringify(JSON.parse(argumentsText))]);
    },
  );
}

/** A reply's arguments may have as many, that of the object itself included. */
const LEVELS_MAX = 100;

/** JSON objects within objects and lists; some keys are names that every object of the language has. */
function nestedArguments(): fc.Arbitrary<string> {
  const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString'), fc.string({ maxLength: 5 }));
  const keys = fc.array(key, { minLength: 1, maxLength: LEVELS_MAX });
  return fc
    .tuple(keys, fc.integer(), fc.boolean())
    .map(([names, value, deepest]) =>
      [...names, ...(deepest ? Array<string>(LEVELS_MAX - names.length).fill('__proto__') : [])].reduce(
        (inner, name) => `{${JSON.stringify(name)}:${inner}}`,
        String(value),
      ),
    );
}

function callWith(argumentsText: string): StreamEvent[] {
  return [
    { type: 'tool-call-start', index: 0, callId: 'call_1', tool: { name: 'f' }, kind: 'function' },
    { type: 'tool-call-delta', index: 0, text: argumentsText },
    { type: 'tool-call-end', index: 0 },
    {
      type: 'usage-report',
      usage: { promptTokens: 9, cachedTokens: 4, outputTokens: 2, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' },
    },
    { type: 'completion-finish', reason: 'tool-calls' },
  ];
}
