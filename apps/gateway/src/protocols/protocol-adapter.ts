import type { Completion } from '#inference/completion.js';
import type { GatewayError } from '#inference/errors.js';
import type { InferenceRequest } from '#inference/request.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

export type ProtocolName = 'chat' | 'responses' | 'messages';

/** What every adapter's `Parsed` has. What else it needs to render (an echo, `include_usage`) is private to it. */
export interface ParsedRequest {
  request: InferenceRequest;
}

/** The part of a parsed request that renderers use: all but the canonical request. Plain JSON, so that it can cross threads. */
export type ReplyOptions<Parsed extends ParsedRequest> = Omit<Parsed, 'request'>;

/** What a reply says about itself. The same in every part of one reply (C-30), but for the clock. */
export interface ReplyContext {
  /** An opaque unique suffix, letters and digits: the adapter puts its own prefix before it (`chatcmpl-`, `resp_`, `msg_`). */
  id: string;
  /** `req_…`, as in the `x-request-id` header. */
  requestId: string;
  createdSeconds: number;
  /** The clock, in Unix seconds: for what a reply says of its end. */
  nowSeconds(): number;
  /** The id the caller asked for. */
  model: string;
}

/**
 * One client format, in both directions. Pure: no I/O, no clock, no randomness (`ReplyContext` brings those), so that every
 * method is tested on fixtures. Everything rendered is the exact text for the socket.
 */
export interface ProtocolAdapter<Parsed extends ParsedRequest = ParsedRequest> {
  readonly name: ProtocolName;

  /** `body` is what `JSON.parse` gave. Throws a `GatewayError` that names its `param`. */
  parseRequest(body: unknown): Parsed;

  /** The whole JSON body of a plain reply. */
  renderCompletion(reply: ReplyContext, parsed: ReplyOptions<Parsed>, completion: Completion): string;

  /** Called once a streamed reply. */
  renderStream(reply: ReplyContext, parsed: ReplyOptions<Parsed>): StreamRenderer;

  /** The whole JSON body of an error before anything was written; the HTTP status is `error.status`. */
  renderError(error: GatewayError, requestId: string): string;
}

/**
 * One streamed reply. Each call returns the text of zero or more whole SSE events, written with one socket write.
 * Exactly one of `finish` and `fail` is called, last; the one that is called first of all methods also writes what opens a
 * stream of the format. Nothing follows a terminal frame.
 */
export interface StreamRenderer {
  /** Events in order, never a terminal one: those come as `finish` or `fail`. `''` when there is nothing to say. */
  render(batch: readonly StreamEvent[]): string;

  /** The terminal frames of a complete reply. Called when its settlement is safe. */
  finish(reason: FinishReason, usage: Usage): string;

  /** The in-stream form of an error (spec 7.3). */
  fail(error: GatewayError): string;

  /** What the format's clients accept as a sign of life after `silentMs` without a write (C-33). May come before any event. */
  keepAlive(silentMs: number): string;
}
