import { IsBoolean, IsOptional } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { NAME_LENGTH_MAX, REASON_LENGTH_MAX } from '../rules/bounds.js';
import { Id, Instant, SignedUsd, Text, Usd } from './fields.js';

export class BalanceGetRequest {
  @Id() accountId!: string;
}

/** The reply of `GET /v1/balance`. The NATS reply adds `expiredHeld`: money of ended grants that open holds may still use. */
export interface Balance {
  object: 'balance';
  currency: 'USD';
  balance_pico_usd: string;
  balance_usd: string;
  reserved_pico_usd: string;
  available_pico_usd: string;
  topup_balance_pico_usd: string;
  plan_balance_pico_usd: string;
  plan_expires_at: string | null;
  /** Absent: none. The balance includes it, and the top-up balance may be negative by as much. */
  credit_line_pico_usd?: string;
}

export const balanceGet = new Endpoint<BalanceGetRequest, Balance & { expiredHeld: string }>('billing.v1.balance.get', BalanceGetRequest, {
  about: 'Balance of an account: total, held and available, exact at this moment',
  isRepeatable: true,
});

export class TopupCreateRequest {
  @Id() accountId!: string;
  /** Dollars as a decimal string, `"25.00"`. */
  @Usd() usd!: string;
  /** Id of the payment, which is credited once. */
  @Text(NAME_LENGTH_MAX) paymentId!: string;
}

export interface TopupCreateReply {
  accountId: string;
  /** False: this payment was credited before. */
  credited: boolean;
  topupBalancePicoUsd: string;
}

export const topupCreate = new Endpoint<TopupCreateRequest, TopupCreateReply>('billing.v1.topup.create', TopupCreateRequest, {
  about: 'Credits a payment, once',
  isRecorded: true,
});

export class PlanGrantRequest {
  @Id() accountId!: string;
  @Usd() usd!: string;
  @Instant() expiresAt!: string;
  /** Idempotency key of the grant. Default: a new grant. */
  @IsOptional() @Text(NAME_LENGTH_MAX) grantKey?: string;
}

export interface PlanGrantReply {
  accountId: string;
  grantId: string;
  /** False: this grant was made before. */
  granted: boolean;
  planBalancePicoUsd: string;
  expiresAt: string;
}

export const planGrant = new Endpoint<PlanGrantRequest, PlanGrantReply>('billing.v1.plan.grant', PlanGrantRequest, {
  about: 'Replaces the plan balance by a new grant',
  isRecorded: true,
});

export class RefundCreateRequest {
  @Id() accountId!: string;
  /** Id of the refund, which is made once. */
  @Text(NAME_LENGTH_MAX) refundId!: string;
  /** The top-up to refund. Absent: all top-ups of the account, and `usd` is required. */
  @IsOptional() @Text(NAME_LENGTH_MAX) paymentId?: string;
  /** Dollars as a decimal string. Default: all of the payment that is not refunded yet. */
  @IsOptional() @Usd() usd?: string;
  /** Takes less where less is left, and says in `amountPicoUsd` how much. */
  @IsOptional() @IsBoolean() atMost?: boolean;
  @IsOptional() @Text(REASON_LENGTH_MAX) reason?: string;
}

export interface RefundCreateReply {
  accountId: string;
  /** False: this refund was made before. */
  refunded: boolean;
  amountPicoUsd: string;
  topupBalancePicoUsd: string;
}

/**
 * A refund takes only money that was topped up, is not refunded yet and is not held, never the credit line. Otherwise
 * `insufficient_balance`, with `details` `requestedPicoUsd`, `refundablePicoUsd` and `freePicoUsd`.
 */
export const refundCreate = new Endpoint<RefundCreateRequest, RefundCreateReply>('billing.v1.refund.create', RefundCreateRequest, {
  about: 'Takes a top-up back, in whole or in part, once',
  isRecorded: true,
});

export class CreditNoteCreateRequest {
  @Text(128) requestId!: string;
  /** Account of the request: that of another one is `not_found`. Default: any account. */
  @IsOptional() @Id() accountId?: string;
  /** Id of the note, which is made once. */
  @Text(NAME_LENGTH_MAX) noteId!: string;
  /** Dollars as a decimal string. Default: all of the cost that is not given back yet. */
  @IsOptional() @Usd() usd?: string;
  /** Shown in the statement of account. */
  @Text(REASON_LENGTH_MAX) reason!: string;
}

export interface CreditNoteCreateReply {
  accountId: string;
  /** False: this note was made before. */
  credited: boolean;
  amountPicoUsd: string;
  topupBalancePicoUsd: string;
}

/**
 * The notes of a request never exceed its cost. Otherwise `conflict`, with `details` `requestedPicoUsd` and `creditablePicoUsd`; also
 * `conflict` while the request runs, after the reaper has billed it, and when its month is detached.
 */
export const creditNoteCreate = new Endpoint<CreditNoteCreateRequest, CreditNoteCreateReply>(
  'billing.v1.credit-note.create',
  CreditNoteCreateRequest,
  { about: 'Gives back the cost of a settled request, in whole or in part, once', isRecorded: true },
);

export class AdjustmentCreateRequest {
  @Id() accountId!: string;
  /** Id of the adjustment, which is made once. */
  @Text(NAME_LENGTH_MAX) adjustmentId!: string;
  /** Dollars as a decimal string: `"2.50"` is a credit, `"-2.50"` a debit, both of the top-up balance. */
  @SignedUsd() usd!: string;
  /** Shown in the statement of account. */
  @Text(REASON_LENGTH_MAX) reason!: string;
}

export interface AdjustmentCreateReply {
  accountId: string;
  /** False: this adjustment was made before. */
  adjusted: boolean;
  topupBalancePicoUsd: string;
}

/**
 * A debit takes only free money, the credit line included. Otherwise `insufficient_balance`, with `details` `requestedPicoUsd` and
 * `freePicoUsd`.
 */
export const adjustmentCreate = new Endpoint<AdjustmentCreateRequest, AdjustmentCreateReply>(
  'billing.v1.adjustment.create',
  AdjustmentCreateRequest,
  { about: 'Corrects the top-up balance, up or down, once', isRecorded: true },
);
