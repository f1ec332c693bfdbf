import type { FinishReason } from '#inference/stream-event.js';

/**
 * Maps a finish reason. A reply with tool calls always finishes with `tool_calls`, even when the upstream says `stop`: agents continue only
 * on `tool_calls`. A reply that reached its limit stays `length`, because its last call may be incomplete.
 * `content-filter` becomes `stop`, and so does `stop-sequence`.
 */
export function renderFinishReason(reason: FinishReason, hasToolCalls: boolean): 'stop' | 'length' | 'tool_calls' {
  if (reason === 'length') return 'length';
  return hasToolCalls ? 'tool_calls' : 'stop';
}
