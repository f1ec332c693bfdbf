import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { ToolCallAssembler } from './tool-call-assembler.js';

/** Appends the end of a good reply: the ends of its calls, the usage if the upstream reported it, and the finish. */
export function endReply(calls: ToolCallAssembler, usage: Usage | undefined, reason: FinishReason, events: StreamEvent[]): void {
  calls.end(events);
  if (usage !== undefined) events.push({ type: 'usage-report', usage });
  events.push({ type: 'completion-finish', reason: withToolCalls(reason, calls.announced > 0) });
}

/** Returns `tool-calls` for a reply with calls, unless it was cut: servers often report an ordinary stop. */
function withToolCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === 'length' || reason === 'content-filter') return reason;
  if (hasCalls) return 'tool-calls';
  return reason === 'tool-calls' ? 'stop' : reason;
}
