import type { ErrorCode } from './errors.js';
import type { ToolKey } from './tool.js';
import type { Usage } from './usage.js';

/** `stop-sequence` is a stop whose cause is known; `content-filter` is the upstream's refusal to go on. */
export type FinishReason = 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'content-filter';

/**
 * What an upstream says, in no upstream's dialect. Grammar of a stream:
 *
 *     upstream-start?  (text-delta | reasoning-delta | refusal-delta | tool call | usage-report)*  (completion-finish | completion-failure)
 *     tool call = tool-call-start  tool-call-delta*  tool-call-end
 *
 * Exactly one terminal event, nothing after it. Calls may interleave by `index`; `index` is 0, 1, 2 … in order of start.
 * `tool-call-start` comes only when id and name are final; ids are unique in the stream. The joined deltas of a function
 * call are never empty by the time of its end (`{}` at least). The last `usage-report` wins, and precedes the terminal event.
 * A failure after content also comes after a `usage-report`, so that everyone bills the same. A stream that its reader has left ends
 * with a `usage-report` or with `settlement-deferred`, without a terminal event. Deltas are never empty,
 * and as the inference proxy passes them on, none begins or ends within a character. After the first `refusal-delta` there is no
 * `text-delta`: what the model says from then on is its refusal.
 */
export type StreamEvent =
  | { type: 'upstream-start'; upstream: string }
  | { type: 'text-delta'; text: string }
  | { type: 'reasoning-delta'; text: string }
  | { type: 'refusal-delta'; text: string }
  | { type: 'tool-call-start'; index: number; callId: string; tool: ToolKey; kind: 'function' | 'custom' }
  | { type: 'tool-call-delta'; index: number; text: string }
  | { type: 'tool-call-end'; index: number }
  | { type: 'usage-report'; usage: Usage }
  /** The client has left, the upstream is read on for what it reports, and the inference-proxy settles the hold. */
  | { type: 'settlement-deferred' }
  | { type: 'completion-finish'; reason: FinishReason }
  | CompletionFailure;

/** `message` is ours and fit for clients: an upstream's own words are logged where they arrive and go no further. */
export interface CompletionFailure {
  type: 'completion-failure';
  code: ErrorCode;
  message: string;
  retryAfterSeconds?: number;
}

/** Content is what a client could have seen: the first of these makes a stream billable (architecture.md, "What counts as returned"). */
export function isContent(event: StreamEvent): boolean {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
    case 'tool-call-start':
    case 'tool-call-delta':
      return true;
    case 'upstream-start':
    case 'tool-call-end':
    case 'usage-report':
    case 'settlement-deferred':
    case 'completion-finish':
    case 'completion-failure':
      return false;
  }
}

/** Appends an event, or joins it with the last one where both are pieces of the same: each piece by itself costs everyone on its way. */
export function appendEvent(events: StreamEvent[], event: StreamEvent): void {
  const last = events.at(-1);
  const joined = last && joinDeltas(last, event);
  if (joined === undefined) events.push(event);
  else events[events.length - 1] = joined;
}

/** Two deltas in a row as the one they could as well have come as; undefined when they are not pieces of the same. */
function joinDeltas(first: StreamEvent, second: StreamEvent): StreamEvent | undefined {
  switch (second.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return first.type === second.type ? { type: second.type, text: first.text + second.text } : undefined;
    case 'tool-call-delta':
      return first.type === second.type && first.index === second.index ? { ...first, text: first.text + second.text } : undefined;
    default:
      return undefined;
  }
}
