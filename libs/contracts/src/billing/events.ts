import { IsIn, IsOptional, Matches } from 'class-validator';
import { Topic } from '../endpoint.js';
import { Id, Instant, Nested, NestedList, PICO_USD } from './fields.js';
import { SETTLE_REASONS, type SettleReason, TokenUsage } from './holds.js';

/** Milliseconds between two announcements of a replica. */
export const REPLICA_INTERVAL_MS = 1_000;

export class ReplicaReady {
  @Id() replicaId!: string;
}

/** Published by every billing replica each second while it answers, so that all gateways send an account to the same replica. */
export const replicaReady = new Topic('billing.v1.event.replica-ready', ReplicaReady, 'A billing replica answers');

/*
 * Events are published after their commit, at most once (core NATS): the ledger is the truth. Amounts are integer strings of pico-USD.
 */

export class KeyChanged {
  @IsOptional() @Id() keyId?: string;
  @Id() projectId!: string;
}

/** Caches must drop one key, or every key of a project. */
export const keyChanged = new Topic('billing.v1.event.key-changed', KeyChanged, 'A key or its project changed');

export class KeyRevoked {
  @Id() keyId!: string;
  @Id() projectId!: string;
  @Instant() revokedAt!: string;
}

export const keyRevoked = new Topic('billing.v1.event.key-revoked', KeyRevoked, 'An API key was revoked');

export class SettledHold {
  @Id() holdId!: string;
  @Id() accountId!: string;
  @Id() projectId!: string;
  @IsIn([...SETTLE_REASONS, 'lease-expired']) reason!: SettleReason;
  @Matches(PICO_USD) costPicoUsd!: string;
  @Nested(() => TokenUsage) usage!: TokenUsage;
}

/** Settlements of one batch. Published only when `HOLD_SETTLED_EVENTS` is on. */
export class HoldsSettled {
  @NestedList(() => SettledHold, 1_024) settled!: SettledHold[];
}

export const holdSettled = new Topic('billing.v1.event.hold-settled', HoldsSettled, 'Requests were charged, several in one message');

export class BalanceLow {
  @Id() accountId!: string;
  @Matches(PICO_USD) balancePicoUsd!: string;
  @Matches(PICO_USD) lowBalancePicoUsd!: string;
}

/** Published each time the balance, top-up and plan together, crosses the threshold of the account downwards. */
export const balanceLow = new Topic('billing.v1.event.balance-low', BalanceLow, "A balance fell below its account's threshold");

export class BalanceExhausted {
  @Id() accountId!: string;
  @Matches(PICO_USD) balancePicoUsd!: string;
  @Matches(PICO_USD) requiredPicoUsd!: string;
}

/** A request was refused that the whole balance, held money included, cannot cover. At most once a minute from each replica. */
export const balanceExhausted = new Topic(
  'billing.v1.event.balance-exhausted',
  BalanceExhausted,
  'A balance cannot cover a request of its account',
);

export class PlanExpired {
  @Id() accountId!: string;
  @Id() grantId!: string;
  /** The part of the grant that was neither used nor held. */
  @Matches(PICO_USD) forfeitedPicoUsd!: string;
}

export const planExpired = new Topic('billing.v1.event.plan-expired', PlanExpired, 'A plan grant expired or was replaced');
