import type { FinishReason } from '#inference/stream-event.js';

export type StopReason = 'end_turn' | 'max_tokens' | 'tool_use' | 'refusal';

/**
 * Maps a finish reason. A reply with tool calls always stops with `tool_use`, even when the upstream says otherwise: agents continue only on
 * `tool_use`. A reply that reached its limit stays `max_tokens`. A stop sequence is `end_turn`: the API has no reason of its own for it.
 */
export function renderStopReason(reason: FinishReason, hasToolCalls: boolean, hasRefusal: boolean): StopReason {
  if (reason === 'length') return 'max_tokens';
  if (hasToolCalls) return 'tool_use';
  return reason === 'content-filter' || hasRefusal ? 'refusal' : 'end_turn';
}
