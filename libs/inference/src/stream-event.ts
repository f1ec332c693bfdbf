import type { Attempt } from './attempt.js';
import type { ErrorCode } from './errors.js';
import type { ToolKey } from './tool.js';
import type { PromptUsage, Usage } from './usage.js';

/** `stop-sequence`: a stop whose cause the upstream reported. `content-filter`: the upstream stopped the reply. */
export type FinishReason = 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'content-filter';

/**
 * An event of a reply, independent of upstream dialects. Grammar of a stream:
 *
 *     upstream-start?  (text-delta | reasoning-delta | refusal-delta | tool call | usage-report)*  (completion-finish | completion-failure)
 *     upstream-start?  embedding-delta*  usage-report  completion-finish
 *     tool call = tool-call-start  tool-call-delta*  tool-call-end
 *
 * - There is one terminal event, and nothing follows it. A stream whose reader cancelled ends with `usage-report` or
 *   `settlement-deferred` instead.
 * - `attempts-report` comes right before the last event, if the ticket asks for it.
 * - Calls may interleave by `index`, which counts from 0 in order of start. `tool-call-start` has the final id and name; ids are unique.
 *   The joined arguments of a function call are at least `{}`.
 * - The last `usage-report` wins. It precedes the terminal event, also a failure after content, so that gateway and inference-proxy bill
 *   the same.
 * - Deltas are never empty, and the inference-proxy never splits a character between them.
 * - After the first `refusal-delta` there is no `text-delta`.
 */
export type StreamEvent =
  | UpstreamStart
  | { type: 'text-delta'; text: string }
  | { type: 'reasoning-delta'; text: string }
  | { type: 'refusal-delta'; text: string }
  | { type: 'tool-call-start'; index: number; callId: string; tool: ToolKey; kind: 'function' | 'custom' }
  | { type: 'tool-call-delta'; index: number; text: string }
  | { type: 'tool-call-end'; index: number }
  /** Vectors of the next inputs, in their order: numbers, or their 32-bit floats in base64, little endian. */
  | { type: 'embedding-delta'; vectors: (string | number[])[] }
  | { type: 'usage-report'; usage: Usage }
  /** The client disconnected. The inference-proxy reads on for the reported usage, and settles the hold. */
  | { type: 'settlement-deferred' }
  /** Calls of upstreams for this request, in their order. */
  | { type: 'attempts-report'; attempts: readonly Attempt[] }
  | { type: 'completion-finish'; reason: FinishReason }
  | CompletionFailure;

/** The upstream whose reply follows, or whose failure was the last. */
export interface UpstreamStart {
  type: 'upstream-start';
  upstream: string;
  /** The upstream's own count, if it was known at the start. It is billed if no `usage-report` follows. */
  prompt?: PromptUsage;
  /** Number of this call among those of the request, one on a stale connection included. Absent: it was the first. */
  attempt?: number;
  /** Whole milliseconds that the request waited in admission queues. Absent: it did not wait. */
  queueMs?: number;
}

/** `message` goes to the client. It is the gateway's own, and may end with the upstream's reason for rejecting the request. */
export interface CompletionFailure {
  type: 'completion-failure';
  code: ErrorCode;
  message: string;
  retryAfterSeconds?: number;
}

/** True for an event that a client can see. The first one makes a stream billable. */
export function isContent(event: StreamEvent): boolean {
  switch (event.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
    case 'tool-call-start':
    case 'tool-call-delta':
    case 'embedding-delta':
      return true;
    case 'upstream-start':
    case 'tool-call-end':
    case 'usage-report':
    case 'settlement-deferred':
    case 'attempts-report':
    case 'completion-finish':
    case 'completion-failure':
      return false;
  }
}

/** Appends an event, or merges it into the last one if both are deltas of the same item, so that fewer events travel. */
export function appendEvent(events: StreamEvent[], event: StreamEvent): void {
  const last = events.at(-1);
  const joined = last && joinDeltas(last, event);
  if (joined === undefined) events.push(event);
  else events[events.length - 1] = joined;
}

/** Merges two deltas of the same item; else undefined. */
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
