import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { REFUSING_LIMITS, type RefusingLimit } from '#inference/errors.js';
import { type Attribution, AttributionOf } from './billing/attribution.js';
import type { Budget } from './billing/budgets.js';
import { Id, Instant, Nested, NestedList, PRICE_PLAN_LENGTH_MAX, Text } from './billing/fields.js';
import type { PinnedPrice } from './billing/holds.js';
import { Endpoint, Topic } from './endpoint.js';
import { TOKENS_MAX } from './rules/bounds.js';

/** Requests of one message. Its size stays below half of the NATS server's default `max_payload`. */
export const ENDED_REQUESTS_MAX = 500;
/** Calls of one request: the largest `ATTEMPTS_MAX`, one on a stale connection, and room for more. */
const ATTEMPTS_REPORTED_MAX = 16;

/** Characters of the sentence of a refusal. Longer ones are cut. */
export const REFUSAL_LENGTH_MAX = 1_000;

export const REQUEST_OUTCOMES = ['completed', 'failed', 'client-disconnected'] as const;
export const CLIENT_PROTOCOLS = ['chat', 'responses', 'messages'] as const;

/** Characters of a body to estimate: the default of `BODY_BYTES_MAX`. */
export const ESTIMATED_BODY_MAX = 8_388_608;

/** One call of an upstream. Times are milliseconds since the gateway received the request. */
export class RequestAttempt {
  @Text(256) upstream!: string;
  @IsInt() @Min(0) startMs!: number;
  /** Head of the upstream's reply, also that of an error. Absent: none came. */
  @IsOptional() @IsInt() @Min(0) firstByteMs?: number;
  /** Absent: the call still ran, to read the usage of a reply whose client had left. */
  @IsOptional() @IsInt() @Min(0) endMs?: number;
  /** Kind of the failure, as in the status of the routes. Absent: the call completed, or was cancelled. */
  @IsOptional() @Text(32) failure?: string;
  /** Status of the upstream's error. */
  @IsOptional() @IsInt() @Min(100) @Max(999) status?: number;
  /** Reason of the failure in Tollgate's own words, for operators: it may name a host. */
  @IsOptional() @Text(256) reason?: string;
}

/** The thing that refused a request, so that a page can lead to it. */
export class RequestRefusal {
  @IsIn(REFUSING_LIMITS) by!: RefusingLimit;
  /** Only with `budget`. */
  @IsOptional() @Id() budgetId?: string;
}

/** The course of one request, without content. Times are milliseconds since the gateway received it. */
export class EndedRequest {
  @Text(128) requestId!: string;
  @Instant() receivedAt!: string;
  /** This and the two ids below are absent when the key is not valid. */
  @IsOptional() @Id() accountId?: string;
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @Id() keyId?: string;
  /** Format of the client. */
  @IsIn(CLIENT_PROTOCOLS) protocol!: (typeof CLIENT_PROTOCOLS)[number];
  /** Absent: the request was refused before its model was known. */
  @IsOptional() @Text(256) model?: string;
  @IsBoolean() stream!: boolean;
  /** HTTP status that was sent; 499 when the client disconnected before. A stream that fails after its head keeps 200. */
  @IsInt() @Min(100) @Max(599) status!: number;
  /** Code of the error that the client got. */
  @IsOptional() @Text(64) code?: string;
  /** Sentence of the error that a refused client got. It may name amounts of the balance or of a budget. */
  @IsOptional() @Text(REFUSAL_LENGTH_MAX) message?: string;
  /** Absent: the request was not refused by a limit, a budget or the balance. */
  @IsOptional() @Nested(() => RequestRefusal) refusal?: RequestRefusal;
  /**
   * End user, client, session, agent and tags of a refused request; of others billing has them. Absent: it named nothing, its body was not read, or
   * too many refusals waited for NATS.
   */
  @IsOptional() @AttributionOf() attribution?: Attribution;
  /** Absent: the request was refused. */
  @IsOptional() @IsIn(REQUEST_OUTCOMES) outcome?: (typeof REQUEST_OUTCOMES)[number];
  /** The hold was made. */
  @IsOptional() @IsInt() @Min(0) heldMs?: number;
  @IsOptional() @IsInt() @Min(0) firstContentMs?: number;
  /** The model's reply was complete. */
  @IsOptional() @IsInt() @Min(0) lastContentMs?: number;
  /** The reply was written, or the client disconnected. */
  @IsInt() @Min(0) endedMs!: number;
  @IsOptional() @Id() holdId?: string;
  /** Parts of the hold's quote: the estimated tokens of the prompt, and the output cap. */
  @IsOptional() @IsInt() @Min(0) @Max(TOKENS_MAX) promptTokensEstimate?: number;
  @IsOptional() @IsInt() @Min(0) @Max(TOKENS_MAX) outputTokensMax?: number;
  /** Calls of upstreams in their order. Absent: none is known. */
  @IsOptional() @NestedList(() => RequestAttempt, ATTEMPTS_REPORTED_MAX) attempts?: RequestAttempt[];
}

export class RequestsEnded {
  @NestedList(() => EndedRequest, ENDED_REQUESTS_MAX) requests!: EndedRequest[];
}

/** Published every 250 ms while there are any, only when `ACTIVITY_EVENTS` is on. Refused requests are included. */
export const requestsEnded = new Topic(
  'gateway.v1.event.requests-ended',
  RequestsEnded,
  'Requests to models ended, several in one message',
);

/** Formats of a body to estimate. */
export const ESTIMATED_FORMATS = [...CLIENT_PROTOCOLS, 'embeddings'] as const;

export class EstimateRequest {
  @IsIn(ESTIMATED_FORMATS) protocol!: (typeof ESTIMATED_FORMATS)[number];
  /** Text of the body, as a client sends it. */
  @IsString() @Length(1, ESTIMATED_BODY_MAX) body!: string;
  /** Price plan of the account that would send it. Default: list prices. */
  @IsOptional() @Text(PRICE_PLAN_LENGTH_MAX) pricePlan?: string;
  /** Key that would send it: the reply says what of its money and budgets would refuse it. Default: nothing is asked. */
  @IsOptional() @Id() keyId?: string;
  /** User and tags of the request, for their budgets. Absent: none. */
  @IsOptional() @AttributionOf() attribution?: Attribution;
}

/** Money or a budget that would refuse a request now: it has less left than the request holds. */
export interface EstimateRefusal {
  by: 'balance' | 'budget';
  /** Absent for the balance. A budget of users or tags has the `value` of the request. */
  budget?: Pick<Budget, 'budgetId' | 'projectId' | 'keyId' | 'dimension' | 'value' | 'period' | 'resetsAt'>;
  /** Absent for a budget of tokens, like the next one. */
  leftPicoUsd?: string;
  /** The amount by which the request holds too much. */
  missingPicoUsd?: string;
  /** Only for a budget of tokens, like the next one. */
  leftTokens?: number;
  missingTokens?: number;
}

/** Amount that a request would hold now. Without a key it depends on the price plan, and on nothing else of key and account. */
export interface RequestEstimate {
  model: string;
  price: PinnedPrice;
  /** The most tokens that the prompt can have: one a byte of its text, and the model's maximum for each image; of embeddings two for each input. */
  promptTokensMax: number;
  promptTokensEstimate: number;
  /** The output cap: that of the body, or else the model's default, within what the context leaves; 0 for embeddings. */
  outputTokensMax: number;
  /** The most that the request can cost. */
  heldPicoUsd: string;
  /** Money of the account that a new request can use. Only with a key, like the next one. */
  availablePicoUsd?: string;
  /** Empty: money and budgets cover the request. Limits per minute and of requests in flight are not asked. */
  refusals?: EstimateRefusal[];
}

/** Errors are those of the request itself. */
export const requestEstimate = new Endpoint<EstimateRequest, RequestEstimate>('gateway.v1.request.estimate', EstimateRequest, {
  about: 'Returns what a request would hold, and at which price, without running it',
  isRepeatable: true,
});
