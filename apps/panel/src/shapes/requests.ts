import type { SettleReason } from '#contracts/billing/holds.js';
import type { RequestRow } from '#contracts/billing/requests.js';
import type { RequestRefusal } from '#contracts/gateway.js';

/** End of a request in a list. `refused`: it got no hold, so that it is none of billing's. */
export const LISTED_ENDINGS = ['completed', 'failed', 'client-disconnected', 'released', 'lease-expired', 'refused'] as const;
export type ListedEnding = SettleReason | 'refused';

/** A request in a list, from billing or, when it was refused, from the panel's records. */
export interface ListedRequest extends Pick<RequestRow, 'requestId' | 'accountId' | 'upstream' | 'settledAt' | 'usage' | 'costPicoUsd'> {
  /** This and the amount held are null for a refused request. */
  holdId: string | null;
  heldPicoUsd: string | null;
  projectId: string;
  keyId: string;
  /** Null: the request was refused before its model was known. */
  model: string | null;
  /** Moment of the hold. A refused request came and ended at this moment. */
  reservedAt: string;
  /** Null while the request runs. */
  ending: ListedEnding | null;
  /** HTTP status that the client got; 499 when it had left. Null: the request runs, or the panel did not record it. */
  status: number | null;
  /** Code of the error that the client got. */
  code: string | null;
  /** Sentence of a refusal, without the balance for callers without `money.read`. */
  message: string | null;
  /** The limit, budget or balance that refused the request. */
  refusal: RequestRefusal | null;
}

/** `GET /accounts/{a}/requests` and `requests.csv`; `{a}` is `all` for the whole platform. */
export interface RequestListReply {
  /**
   * Running requests, at most `limit` and on the first page only, then ended and refused ones by the time of their end, newest first: at most
   * `limit` of each.
   */
  requests: ListedRequest[];
  /** Null: this was the last page. A page may have few rows or none, and a `nextCursor`. */
  nextCursor: string | null;
  /** The list is complete back to this moment. Null: back to `from`, or to the first request. */
  searchedTo: string | null;
}
