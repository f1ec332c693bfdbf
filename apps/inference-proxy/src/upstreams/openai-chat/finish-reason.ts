import type { FinishReason } from '#inference/stream-event.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { isObject, NO_REASON } from '../replies/json-object.js';

/** Values of `finish_reason` seen from OpenAI-compatible servers. A map, because `constructor` is a field of every object. */
const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries<FinishReason>({
    stop: 'stop',
    eos: 'stop',
    end_turn: 'stop',
    stop_sequence: 'stop-sequence',
    length: 'length',
    max_tokens: 'length',
    model_length: 'length',
    tool_calls: 'tool-calls',
    tool_use: 'tool-calls',
    function_call: 'tool-calls',
    content_filter: 'content-filter',
    sensitive: 'content-filter',
    safety: 'content-filter',
    recitation: 'content-filter',
  }),
);

const BROKEN_FINISHES = new Set(['abort', 'error', 'network_error', 'malformed_function_call']);

/**
 * Returns the finish reason of a choice; undefined while it has none. An unknown word is a `stop`. `stopSequences` are the ones
 * sent upstream: servers that name the sequence they matched call the finish `stop`. Throws `UpstreamFailure` for words that
 * report a failure.
 */
export function parseFinishReason(
  { finish_reason: said, stop_reason: stopReason, matched_stop: matchedStop }: Record<string, unknown>,
  stopSequences: readonly string[] = [],
): FinishReason | undefined {
  const value = isObject(said) ? said.type : said;
  if (typeof value !== 'string' || NO_REASON.test(value)) return undefined;
  const word = value.toLowerCase();
  if (BROKEN_FINISHES.has(word)) throw new UpstreamFailure('broken', 'upstream_error', { detail: `finish_reason ${word}` });
  if (word === 'insufficient_system_resource') {
    throw new UpstreamFailure('refused', 'model_capacity', { detail: `finish_reason ${word}` });
  }
  const reason = FINISH_REASONS.get(word) ?? 'stop';
  const matched = stopReason ?? matchedStop;
  return reason === 'stop' && typeof matched === 'string' && stopSequences.includes(matched) ? 'stop-sequence' : reason;
}
