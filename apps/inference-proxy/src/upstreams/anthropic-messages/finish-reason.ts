import type { FinishReason } from '#inference/stream-event.js';
import { NO_REASON } from '../replies/json-object.js';

/** Values of `stop_reason`. A map, because `constructor` is a field of every object. */
const STOP_REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries<FinishReason>({
    end_turn: 'stop',
    stop_sequence: 'stop-sequence',
    tool_use: 'tool-calls',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    pause_turn: 'length', // the turn is not over
    refusal: 'content-filter',
  }),
);

/** Returns the finish reason; undefined when `stop_reason` is absent, null or a word for none. An unknown word is a `stop`. */
export function parseFinishReason(stopReason: unknown): FinishReason | undefined {
  return typeof stopReason === 'string' && !NO_REASON.test(stopReason) ? (STOP_REASONS.get(stopReason) ?? 'stop') : undefined;
}
