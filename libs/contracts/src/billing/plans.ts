import { IsIn, IsOptional } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, Instant, Text, Usd } from './fields.js';

/** Weeks begin on Monday. */
export const PLAN_PERIODS = ['day', 'week', 'month'] as const;
export type PlanPeriod = (typeof PLAN_PERIODS)[number];

export class PlanSubscribeRequest {
  @Id() accountId!: string;
  /** Amount of each grant: dollars as a decimal string. */
  @Usd() usd!: string;
  @IsIn(PLAN_PERIODS) period!: PlanPeriod;
  /** IANA name of the zone in which days, weeks and months begin. Default: UTC. */
  @IsOptional() @Text(64) timeZone?: string;
  /** Time of the next grant. Default: now for a new subscription, the next period for a changed one. */
  @IsOptional() @Instant() startsAt?: string;
}

/** A plan that is granted again in each period. What is left of the grant before is forfeited. */
export interface PlanSubscription {
  subscriptionId: string;
  accountId: string;
  amountPicoUsd: string;
  period: PlanPeriod;
  timeZone: string;
  /** Time of the next grant. */
  nextGrantAt: string;
  createdAt: string;
}

export const planSubscribe = new Endpoint<PlanSubscribeRequest, PlanSubscription>('billing.v1.plan.subscribe', PlanSubscribeRequest, {
  about: 'Grants a plan in each period, or changes it from the next period on',
  isRecorded: true,
});

export class PlanShowRequest {
  @Id() accountId!: string;
}

export interface PlanShowReply {
  accountId: string;
  /** Null: no plan is granted again. */
  subscription: PlanSubscription | null;
  planBalancePicoUsd: string;
  /** Null: no plan is active. */
  expiresAt: string | null;
}

export const planShow = new Endpoint<PlanShowRequest, PlanShowReply>('billing.v1.plan.show', PlanShowRequest, {
  about: 'Plan subscription of an account, and the plan balance at this moment',
  isRepeatable: true,
});

export class PlanCancelRequest {
  @Id() accountId!: string;
}

export const planCancel = new Endpoint<PlanCancelRequest, PlanSubscription>('billing.v1.plan.cancel', PlanCancelRequest, {
  about: 'Ends the plan subscription of an account; the current grant lasts to its end',
  isRecorded: true,
});
