import { IsISO8601, IsOptional, IsString, IsUUID, Length, Matches } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { USD } from './fields.js';

export class BalanceGetRequest {
  @IsUUID() accountId!: string;
}

/** Spec 2.2, field for field, and `expiredHeld`: what open holds may still use of ended grants. */
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
}

export const balanceGet = new Endpoint<BalanceGetRequest, Balance & { expiredHeld: string }>(
  'billing.v1.balance.get',
  BalanceGetRequest,
  'What an account has, holds and can spend, exact at this moment',
);

export class TopupCreateRequest {
  @IsUUID() accountId!: string;
  /** Dollars as a decimal string, `"25.00"`. */
  @Matches(USD) usd!: string;
  /** The payment's own id: the same id is credited once. */
  @IsString() @Length(1, 200) paymentId!: string;
}

export interface TopupCreateReply {
  accountId: string;
  /** False: this payment was credited before. */
  credited: boolean;
  topupBalancePicoUsd: string;
}

export const topupCreate = new Endpoint<TopupCreateRequest, TopupCreateReply>(
  'billing.v1.topup.create',
  TopupCreateRequest,
  'Credits a payment, once',
);

export class PlanGrantRequest {
  @IsUUID() accountId!: string;
  @Matches(USD) usd!: string;
  @IsISO8601() expiresAt!: string;
  /** Names the grant, so that repeating it changes nothing. Absent: always a new grant. */
  @IsOptional() @IsString() @Length(1, 200) grantKey?: string;
}

export interface PlanGrantReply {
  accountId: string;
  grantId: string;
  /** False: this grant was made before. */
  granted: boolean;
  planBalancePicoUsd: string;
  expiresAt: string;
}

export const planGrant = new Endpoint<PlanGrantRequest, PlanGrantReply>(
  'billing.v1.plan.grant',
  PlanGrantRequest,
  'Replaces the plan balance by a new grant',
);
