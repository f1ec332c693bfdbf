import type {
  AdjustmentCreateReply,
  AdjustmentCreateRequest,
  PlanGrantReply,
  PlanGrantRequest,
  RefundCreateReply,
  RefundCreateRequest,
  TopupCreateReply,
  TopupCreateRequest,
} from '#contracts/billing/money.js';
import type { MovementKind, MovementListReply } from '#contracts/billing/movements.js';

/** `GET /accounts/{a}/movements?from&to&kinds&limit&cursor`, newest first. `kinds` is separated by commas. */
export type { AdjustmentCreateReply, MovementListReply, PlanGrantReply, RefundCreateReply, TopupCreateReply };

/** `POST /accounts/{a}/topups`. Replies `TopupCreateReply`. */
export type TopupBody = Omit<TopupCreateRequest, 'accountId'>;

/** `POST /accounts/{a}/grants`. Replies `PlanGrantReply`. */
export type GrantBody = Omit<PlanGrantRequest, 'accountId'>;

/** `POST /accounts/{a}/refunds`. Replies `RefundCreateReply`. */
export type RefundBody = Omit<RefundCreateRequest, 'accountId'>;

/** `POST /accounts/{a}/adjustments`. Replies `AdjustmentCreateReply`. */
export type AdjustmentBody = Omit<AdjustmentCreateRequest, 'accountId'>;

/**
 * `GET /accounts/{a}/statements/{yyyy-mm}` and `{yyyy-mm}.csv`. A month in UTC:
 * `opening + in − out − cost − forfeited = closing`. The closing amount of the running month is the balance and its `expiredHeld`.
 */
export interface Statement {
  accountId: string;
  /** `2027-01`. */
  month: string;
  from: string;
  /** End of the month, or now while it runs. */
  to: string;
  /** False while the month runs: the closing amount still changes. */
  isClosed: boolean;
  openingPicoUsd: string;
  /** Top-ups, grants, credits and credit notes. */
  inPicoUsd: string;
  /** Refunds and debits. */
  outPicoUsd: string;
  /** Cost of requests. */
  costPicoUsd: string;
  /** Plan money that was not used when its grant ended. */
  forfeitedPicoUsd: string;
  closingPicoUsd: string;
  /** In the order of time: each movement, and one line for the requests of each day, at the end of the day. */
  lines: StatementLine[];
}

export interface StatementLine {
  /** Time of a movement, or start of the day of `usage`. */
  at: string;
  kind: MovementKind | 'usage';
  /** Change of the balance, negative when it took money. */
  amountPicoUsd: string;
  balancePicoUsd: string;
  /** Id of payment, grant, refund, adjustment or credit note. */
  reference: string | null;
  reason: string | null;
  /** Number of requests of a line `usage`. Null for movements. */
  requests: number | null;
}
