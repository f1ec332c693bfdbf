import type { FinishReason } from '#inference/stream-event.js';
import type { Oddity } from '../upstream-adapter.js';
import { readFinishWord, worseReason } from './finish-words.js';

/** Words that servers have sent, by what they mean. */
const WORDS: Record<FinishReason | 'upstream_error' | 'model_capacity', string[]> = {
  stop: [
    'stop',
    'STOP',
    'eos',
    'eos_token',
    'end_turn',
    'endTurn',
    'FINISH_REASON_STOP',
    'complete',
    'completed',
    'end',
    ...['no_error', 'none_error', 'no_filter', 'content_filter_off', 'unblocked', 'stop_policy'],
    ...['content_block_stop', 'end_of_block', 'code_block_end'],
    ...['endoftext', 'end_of_text', 'STOP_CRITERIA_MET', 'REASON_STOP', 'normal', 'stopped_eos', '<|im_end|>'],
  ],
  'stop-sequence': ['stop_sequence', 'STOP_SEQUENCE', 'stop_sequence_reached', 'stopped_word', 'stop_str'],
  'tool-calls': ['tool_calls', 'tool_use', 'function_call', 'tool-calls', 'TOOL_CALL', 'REASON_TOOL_CALLS', 'client_tool_use'],
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
    ...['time_limit', 'REASON_TIME_LIMIT', 'REASON_MAX_LEN', 'REASON_MAX_CONTEXT', 'stopped_limit', 'maximum_tokens', 'output_limit'],
    ...['generate_limit', 'max_generate_limit'],
    ...['ERROR_LIMIT', 'max_time', 'thinking_budget_exceeded', 'context', 'time_limit_exceeded', 'out_of_tokens', 'output_truncated'],
  ],
  'content-filter': [
    ...['content_filter', 'content_filtered', 'SAFETY', 'sensitive', 'recitation', 'refusal', 'guardrail_intervened'],
    ...['PROHIBITED_CONTENT', 'BLOCKLIST', 'SPII', 'IMAGE_SAFETY', 'blocked', 'moderation'],
    ...['IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION', 'MODEL_ARMOR', 'ERROR_TOXIC', 'unsafe_content', 'content_policy_violation'],
    ...['data_inspection_failed', 'copyright', 'flagged', 'contentBlocked', 'blocked_by_policy', 'content_policy', 'block'],
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
    ...['MISSING_THOUGHT_SIGNATURE', 'MALFORMED_RESPONSE', 'USER_CANCEL', 'client_disconnect', 'generation_failed', 'preempted'],
    ...['connection_lost', 'invalid_tool_call', 'deadline_exceeded', 'out_of_memory', 'REASON_INVALID'],
  ],
  model_capacity: ['insufficient_system_resource', 'engine_overloaded', 'server_overloaded', 'rate_limit_exceeded', 'throttled', 'busy'],
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

test.each([undefined, null, '', 'null', 'None', 7, 'FINISH_REASON_UNSPECIFIED', 'not_finished', 'in_progress', 'undefined'])(
  '%p is no finish',
  (word) => {
    expect(readFinishWord(word, {})).toBeUndefined();
  },
);

test.each([
  ['went_well', 'went_well'],
  ['The user said: hello, world!', 'of no known form'],
  ['The capacity of the tank', 'of no known form'],
  [`error_${'x'.repeat(64)}`, 'of no known form'],
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
