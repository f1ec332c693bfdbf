import fc from 'fast-check';
import type { StreamEvent } from '#inference/stream-event.js';
import { collectCompletion } from '#testing/collect-completion.js';
import { testCases } from '#testing/long-run.js';
import { type StreamEventsOptions, streamEvents } from '#testing/stream-events.js';
import { parseJson } from '../../src/http/bodies/parse-json.js';
import type { ParsedRequest, ProtocolAdapter, ReplyContext } from '../../src/protocols/protocol-adapter.js';

/** Returns the fields of the next request, as the format's clients build it: with the reply and a result for each call. */
export type ContinueWith = (reply: never) => object;

/** Defines tests that replies are accepted when a client sends them back unchanged. */
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
    'a call in the history keeps its arguments, with any keys and up to 100 levels [replies-as-history]',
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

/** Levels of a reply's arguments, including the object itself. */
const LEVELS_MAX = 100;

/** Generates nested JSON objects. Some keys are names of `Object.prototype`. */
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
