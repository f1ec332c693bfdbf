import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { REQUEST_ORDERS, REQUEST_SORTS, type RequestOrder, type RequestSort } from '../rules/request-order.js';
import { type Attribution, AttributionValue, NormalizedValue } from './attribution.js';
import { Id, Instant, type Paged, PICO_USD, Text } from './fields.js';
import { ALL_SETTLE_REASONS, type PinnedPrice, type SettleReason, type Settler, type TokenUsage } from './holds.js';

/** A name of a tag, and its value if one is meant. */
const TAG_FILTER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(=[^\p{Cc}\p{Cs}]{1,128})?$/u;
/** Eleven days: no request takes longer. */
const TOOK_MS_MAX = 999_999_999;

export class RequestShowRequest {
  /** Its own id, that of its reply, of its hold, or of its trace; of several requests with a client's trace the newest. */
  @Text(128) requestId!: string;
}

/** Parts of a cost by the money that paid them. */
export interface CostParts {
  planPicoUsd: string;
  topupPicoUsd: string;
  /** Plan money of a grant that ended while the request ran. */
  endedPlanPicoUsd: string;
}

/** Bill of a request, or of its last meter reading. Usage is zero when nothing was billed. */
export interface RequestBill {
  usage: TokenUsage;
  /** `above` of the last step of the price that the prompt reached. Absent: none. */
  step?: number;
  costPicoUsd: string;
  /** Its parts add up to the cost. */
  paid: CostParts;
  settledAt: string;
}

/** End and cost of a request, including a late settlement. */
export interface RequestSettlement extends RequestBill {
  reason: SettleReason;
  /** `reaper`: the lease expired before a service settled. Null: a release. */
  settledBy: Settler | 'reaper' | null;
  /** Value of the usage beyond the hold. It is not part of the cost. */
  overPicoUsd: string;
  /** Part of a late settlement that the account had no money for. It is not part of the cost. */
  writtenOffPicoUsd: string;
  /** Bill of the reaper, which a late settlement replaced. Null without a late settlement. */
  reaped: RequestBill | null;
}

/** Money given back for a request, after its settlement. The cost stays as it was charged. */
export interface RequestCreditNote {
  noteId: string;
  amountPicoUsd: string;
  reason: string;
  createdAt: string;
}

/** Everything billing knows of one request. `settlement` is null while it runs. Amounts are integer strings of pico-USD. */
export interface BilledRequest {
  requestId: string;
  /** Trace id of OpenTelemetry: the client's, or else the request id without `req_`. Null for request ids of another form. */
  traceId: string | null;
  holdId: string;
  accountId: string;
  projectId: string;
  keyId: string;
  model: string;
  /** End user, client, session, agent and tags, as far as the request named them. */
  attribution: Attribution;
  upstream: string | null;
  heldPicoUsd: string;
  price: PinnedPrice;
  reservedAt: string;
  settlement: RequestSettlement | null;
  /** The first one first. */
  creditNotes: RequestCreditNote[];
}

export const requestShow = new Endpoint<RequestShowRequest, BilledRequest>('billing.v1.request.show', RequestShowRequest, {
  about: 'Hold, price, usage and settlement of one request',
});

/** Questions about requests, whoever knows them. */
export class RequestFilters {
  /** Default: all accounts. */
  @IsOptional() @Id() accountId?: string;
  /** Start, included. A request belongs to the time of its settlement, a running one to that of its hold. */
  @IsOptional() @Instant() from?: string;
  /** End, excluded. */
  @IsOptional() @Instant() to?: string;
  /** Only this project, key, model or upstream. */
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @Id() keyId?: string;
  @IsOptional() @Text(256) model?: string;
  @IsOptional() @Text(256) upstream?: string;
  /** Only requests of this end user. */
  @IsOptional() @NormalizedValue() @AttributionValue() user?: string;
  /** Only requests with this tag: `team=search`, or `team` with any value. */
  @IsOptional() @Matches(TAG_FILTER, { message: '$property must be a tag such as team or team=search' }) tag?: string;
  /** Least and most that a request cost. */
  @IsOptional() @Matches(PICO_USD) costMinPicoUsd?: string;
  @IsOptional() @Matches(PICO_USD) costMaxPicoUsd?: string;
  /** Least and most milliseconds from the hold to the settlement. */
  @IsOptional() @IsInt() @Min(0) @Max(TOOK_MS_MAX) tookMinMs?: number;
  @IsOptional() @IsInt() @Min(0) @Max(TOOK_MS_MAX) tookMaxMs?: number;
  /** Ended requests on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(200) limit?: number;
  /** `nextCursor` of the page before, with the same filters. */
  @IsOptional() @Text(2_000) cursor?: string;
}

export class RequestListRequest extends RequestFilters {
  /** Only requests that ended like this. */
  @IsOptional() @IsIn(ALL_SETTLE_REASONS) ending?: SettleReason;
  /** Default: `time`. Every other order than newest first has the ended requests of the time alone, at most 200,000. */
  @IsOptional() @IsIn(REQUEST_SORTS) sort?: RequestSort;
  /** Default: `desc`, the newest or largest first. */
  @IsOptional() @IsIn(REQUEST_ORDERS) order?: RequestOrder;
}

/** A request in a list. After a late settlement ending, upstream, usage and cost are those of the late one. */
export interface RequestRow {
  requestId: string;
  holdId: string;
  accountId: string;
  projectId: string;
  keyId: string;
  model: string;
  upstream: string | null;
  reservedAt: string;
  heldPicoUsd: string;
  /** This and the following are null while the request runs. */
  settledAt: string | null;
  ending: SettleReason | null;
  usage: TokenUsage | null;
  costPicoUsd: string | null;
}

export interface RequestListReply extends Paged {
  /** Running requests, at most `limit` and on the first page only, then ended ones; newest first. */
  requests: RequestRow[];
  /** The list is complete back to this moment. Null: back to `from`, or to the first request. */
  searchedTo: string | null;
}

/** Reads back over at most 50,000 requests for one page: a page may have few rows or none, and a `nextCursor`. */
export const requestList = new Endpoint<RequestListRequest, RequestListReply>('billing.v1.request.list', RequestListRequest, {
  about: 'Requests of one account or all, newest first or sorted by a value',
});
