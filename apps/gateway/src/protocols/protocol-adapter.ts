import type { Completion } from '#inference/completion.js';
import type { GatewayError } from '#inference/errors.js';
import type { InferenceRequest } from '#inference/request.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

export type ProtocolName = 'chat' | 'responses' | 'messages';

/** The common part of every parsed request. An adapter adds private fields that its renderers need, such as an echo or `include_usage`. */
export interface ParsedRequest {
  request: InferenceRequest;
  /** Absent: the body names nothing. */
  attribution?: BodyAttribution | undefined;
}

/** User and session that the body of a request names, within the limits of their lengths. */
export interface BodyAttribution {
  user?: string | undefined;
  session?: string | undefined;
  /** Pairs of strings. The project says which of them are tags. */
  metadata?: Record<string, string> | undefined;
}

/** The fields of a parsed request that renderers need. Plain JSON, so that it can be sent between threads. */
export type ReplyOptions<Parsed extends ParsedRequest> = Omit<Parsed, 'request' | 'attribution'>;

/** Usage as a reply shows it. */
export interface ShownUsage extends Usage {
  /** Cost in dollars, exactly. Absent: the client did not ask for it, or it is not known. */
  costUsd?: string;
}

export interface ShownCompletion extends Completion {
  usage: ShownUsage;
}

/** Identity of a reply, the same in every part of it. */
export interface ReplyContext {
  /** Unique suffix of letters and digits. Each adapter adds its prefix (`chatcmpl-`, `resp_`, `msg_`). */
  id: string;
  /** The value of the `x-request-id` header, `req_…`. */
  requestId: string;
  createdSeconds: number;
  /** Returns the current Unix time in seconds, for the completion time of a reply. */
  nowSeconds(): number;
  /** The model id of the request. */
  model: string;
}

/**
 * Translates one client format in both directions. Adapters are pure: no I/O, clock or randomness (`ReplyContext` provides them), so that
 * fixtures test every method. Rendered text goes to the socket unchanged.
 */
export interface ProtocolAdapter<Parsed extends ParsedRequest = ParsedRequest> {
  readonly name: ProtocolName;

  /** Parses a body returned by `JSON.parse`. Throws a `GatewayError` whose `param` names the invalid field. */
  parseRequest(body: unknown): Parsed;

  /** Returns the JSON body of a plain reply. */
  renderCompletion(reply: ReplyContext, parsed: ReplyOptions<Parsed>, completion: ShownCompletion): string;

  /** Creates the renderer of one streamed reply. */
  renderStream(reply: ReplyContext, parsed: ReplyOptions<Parsed>): StreamRenderer;

  /** Returns the JSON body of an error that is sent with status `error.status`. */
  renderError(error: GatewayError, requestId: string): string;
}

/**
 * Renders one streamed reply. Each call returns zero or more complete SSE events for one socket write. The first call also returns the
 * events that open a stream. The last call is exactly one of `finish` and `fail`; nothing follows it.
 */
export interface StreamRenderer {
  /** Renders events in order, without the terminal event. Returns `''` when there is nothing to send. */
  render(batch: readonly StreamEvent[]): string;

  /** Renders the last events of a complete reply. Called when its settlement is recorded or refused, or when `settleAnswerMs` is over. */
  finish(reason: FinishReason, usage: ShownUsage): string;

  /** Renders an error within the stream. */
  fail(error: GatewayError): string;

  /** Renders a keep-alive after `silentMs` without a write. It may precede all events. */
  keepAlive(silentMs: number): string;
}
