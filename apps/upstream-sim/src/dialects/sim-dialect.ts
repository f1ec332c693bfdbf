import type { ChatRequest } from './chat/parse-request.js';
import type { Directives } from '../directives.js';
import type { ReplyPlan } from '../reply/plan-reply.js';
import type { ErrorObject } from '../sim-error.js';

/** One event of a stream and how many tokens it carries. */
export interface ReplyEvent {
  /** The SSE event's name, in dialects that have them. */
  name?: string;
  json: string;
  tokens: number;
}

/** A request, understood: what is asked, in the words of chat completions, and how to answer it in those of its dialect. */
export interface DialectRequest {
  /** One plan and one usage rule serve all dialects. */
  chat: ChatRequest;
  /** The body of a plain reply. */
  renderReply(plan: ReplyPlan, directives: Directives): string;
  /** The events of a streamed reply, without the closing `done`. */
  renderEvents(plan: ReplyPlan, directives: Directives): Iterable<ReplyEvent>;
}

/** How one kind of server is spoken to. */
export interface SimDialect {
  path: string;
  /** @throws SimError for what a strict server would refuse */
  parseRequest(body: string): DialectRequest;
  /** The body of an error reply. */
  renderError(error: ErrorObject, status: number): object;
  /** The event of a stream that fails on the way. */
  renderStreamError(error: ErrorObject): ReplyEvent;
  /** What the last `data:` line of every stream says, in dialects that have one. */
  done?: string;
}
