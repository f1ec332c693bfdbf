import type { AdjustmentCreateReply, PlanGrantReply, RefundCreateReply, TopupCreateReply } from '#contracts/billing/money.js';
import type { Movement, MovementKind, MovementListReply } from '#contracts/billing/movements.js';

/** `GET /accounts/{a}/movements?from&to&kinds&limit&cursor`, newest first. `kinds` is separated by commas. */
export type { AdjustmentCreateReply, Movement, MovementKind, MovementListReply, PlanGrantReply, RefundCreateReply, TopupCreateReply };

/** `POST /accounts/{a}/topups`. Replies `TopupCreateReply`. */
export interface TopupBody {
  /** Dollars as a decimal string, `"25.00"`. */
  usd: string;
  /** Id of the payment, which is credited once. */
  paymentId: string;
}

/** `POST /accounts/{a}/grants`. Replies `PlanGrantReply`. */
export interface GrantBody {
  usd: string;
  expiresAt: string;
  /** Id of the grant, which is made once. Default: a new grant. */
  grantKey?: string;
}

/** `POST /accounts/{a}/refunds`. Replies `RefundCreateReply`. */
export interface RefundBody {
  /** Id of the refund, which is made once. */
  refundId: string;
  /** The top-up to refund. Absent: all top-ups of the account, and `usd` is required. */
  paymentId?: string;
  usd?: string;
  reason?: string;
}

/** `POST /accounts/{a}/adjustments`. Replies `AdjustmentCreateReply`. */
export interface AdjustmentBody {
  /** Id of the adjustment, which is made once. */
  adjustmentId: string;
  /** `"2.50"` is a credit, `"-2.50"` a debit. */
  usd: string;
  reason: string;
}

/**
 * `GET /accounts/{a}/statements/{yyyy-mm}` and `{yyyy-mm}.csv`. A month in UTC:
 * `opening + in − out − cost − forfeited = closing`. All amounts but opening and closing are positive.
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
  /** Top-ups, grants and credits. */
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
  /** Id of payment, grant, refund or adjustment. */
  reference: string | null;
  reason: string | null;
  /** Number of requests of a line `usage`. Null for movements. */
  requests: number | null;
}
