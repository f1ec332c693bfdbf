import type { PinnedPrice, SettleReason, TokenUsage } from '#contracts/billing/holds.js';
import type { BilledRequest, RequestBill, RequestSettlement } from '#contracts/billing/requests.js';

/** `GET /requests/{requestId}`: everything that billing knows of one request. */
export type { BilledRequest, PinnedPrice, RequestBill, RequestSettlement, SettleReason, TokenUsage };

/** Query of `GET /accounts/{a}/requests` and `requests.csv`; `{a}` is `all` for the whole platform. */
export interface RequestFilter {
  from?: string;
  to?: string;
  projectId?: string;
  keyId?: string;
  model?: string;
  upstream?: string;
  /** Reason of the end. */
  ending?: SettleReason;
  /** At most 200. Default 100. */
  limit?: number;
  cursor?: string;
}

export interface RequestListReply {
  /** Running requests, on the first page only, then ended ones, newest first. */
  requests: RequestRow[];
  /** Null: there are no more. A page may have fewer rows than `limit`, even none, before the last. */
  nextCursor: string | null;
  /** The list is complete back to this moment. Null: back to the start. */
  searchedTo: string | null;
}

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
