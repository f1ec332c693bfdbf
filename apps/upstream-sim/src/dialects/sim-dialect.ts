import type { ChatRequest } from '../chat-request.js';
import type { Directives } from '../directives.js';
import type { CacheablePrompt } from '../prompt-cache.js';
import type { ReplyPlan } from '../reply/plan-reply.js';
import type { ErrorObject } from '../sim-error.js';

/** One event of a stream, with the number of tokens that it carries. */
export interface ReplyEvent {
  /** Name of the SSE event, in dialects that name their events. */
  name?: string;
  json: string;
  /** Data of a second line in the same event. */
  secondLine?: string;
  tokens: number;
}

/** A parsed request: the equivalent chat request, and the renderers of its dialect. */
export interface DialectRequest {
  chat: ChatRequest;
  /** The prompt of the request (`chat`, or what is left of it) for the cache. */
  cacheable(request: ChatRequest): CacheablePrompt;
  /** The body of a plain reply. */
  renderReply(plan: ReplyPlan, directives: Directives): string;
  /** The events of a streamed reply, without the end marker. */
  renderEvents(plan: ReplyPlan, directives: Directives): Iterable<ReplyEvent>;
}

/** One API that the simulator speaks. */
export interface SimDialect {
  path: RegExp;
  /**
   * Parses a body, with the named groups of the path.
   *
   * @throws SimError when a strict server would refuse the request
   */
  parseRequest(body: string, groups: Readonly<Record<string, string>>): DialectRequest;
  /** The body of an error reply. */
  renderError(error: ErrorObject, status: number): object;
  /** The event that ends a failed stream. */
  renderStreamError(error: ErrorObject): ReplyEvent;
  /** Encodes an event of a stream in frames. Absent: the dialect streams server-sent events. */
  frame?(event: ReplyEvent): Buffer;
  /** The end marker of streams. */
  marker: ReplyEvent;
  /** Streams that end with the marker. Servers of the other dialects add it too, at times. */
  markerAfter: readonly ('reply' | 'error')[];
}
