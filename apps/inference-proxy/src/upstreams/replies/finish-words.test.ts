import type { FinishReason } from '#inference/stream-event.js';
import type { Oddity } from '../upstream-adapter.js';
import { readFinishWord, worseReason } from './finish-words.js';

/** Words that servers have sent, by what they mean. */
const WORDS: Record<FinishReason | 'upstream_error' | 'model_capacity', string[]> = {
  stop: ['stop', 'STOP', 'eos', 'eos_token', 'end_turn', 'endTurn', 'FINISH_REASON_STOP', 'complete', 'completed', 'end'],
  'stop-sequence': ['stop_sequence', 'STOP_SEQUENCE'],
  'tool-calls': ['tool_calls', 'tool_use', 'function_call', 'tool-calls', 'TOOL_CALL'],
  length: [
    ...['length', 'max_tokens', 'MAX_TOKENS', 'maxTokens', 'max_output_tokens', 'model_length', 'model_context_window_exceeded'],
    ...[
      'context_length_exceeded',
      'token_limit',
      'truncated',
      'max_completion_tokens',
      'FinishReason.MAX_TOKENS',
      'pause_turn',
      'incomplete',
    ],
  ],
  'content-filter': [
    ...['content_filter', 'content_filtered', 'SAFETY', 'sensitive', 'recitation', 'refusal', 'guardrail_intervened'],
    ...['PROHIBITED_CONTENT', 'BLOCKLIST', 'SPII', 'IMAGE_SAFETY', 'blocked', 'moderation'],
  ],
  upstream_error: [
    ...['error', 'abort', 'aborted', 'cancelled', 'canceled', 'network_error', 'MALFORMED_FUNCTION_CALL', 'malformed_tool_use'],
    ...[
      'function_call_filter: MALFORMED_FUNCTION_CALL',
      'function_call_filter: UNEXPECTED_TOOL_CALL',
      'failed',
      'timeout',
      'internal_error',
    ],
  ],
  model_capacity: ['insufficient_system_resource', 'engine_overloaded'],
};

const rows = Object.entries(WORDS).flatMap(([meaning, words]) => words.map((word) => [word, meaning] as const));

test.each(rows)('%s means %s', (word, meaning) => {
  const oddities: Oddity[] = [];
  let read: unknown;
  try {
    read = readFinishWord(word, { onOddity: (oddity) => oddities.push(oddity) });
  } catch (error) {
    read = (error as { code: string }).code;
  }
  expect({ read, oddities }).toEqual({ read: meaning, oddities: [] });
});

test.each([undefined, null, '', 'null', 'None', 7, 'FINISH_REASON_UNSPECIFIED'])('%p is no finish', (word) => {
  expect(readFinishWord(word, {})).toBeUndefined();
});

test.each([
  ['went_well', 'went_well'],
  ['The user said: hello, world!', 'of no known form'],
])('the unknown word %j is a stop, and is reported', (word, detail) => {
  const oddities: Oddity[] = [];
  expect(readFinishWord(word, { onOddity: (oddity) => oddities.push(oddity) })).toBe('stop');
  expect(oddities).toEqual([{ kind: 'unknown-finish', detail }]);
});

test.each<[FinishReason | undefined, FinishReason | undefined, FinishReason | undefined]>([
  ['stop', 'length', 'length'],
  ['length', 'stop', 'length'],
  ['stop', 'tool-calls', 'tool-calls'],
  ['content-filter', 'length', 'content-filter'],
  [undefined, 'stop', 'stop'],
  ['stop', undefined, 'stop'],
  [undefined, undefined, undefined],
])('of %s and %s, %s counts', (one, other, expected) => {
  expect(worseReason(one, other)).toBe(expected);
});
