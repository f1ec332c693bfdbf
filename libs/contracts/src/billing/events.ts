import { ArrayMaxSize, IsArray, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Topic } from '../endpoint.js';
import { NAME_LENGTH_MAX } from '../rules/bounds.js';
import { AttributionValue, DIMENSION } from './attribution.js';
import { BUDGET_PERIODS, type BudgetPeriod } from './budgets.js';
import { Clearable, Id, Instant, Nested, NestedList, PICO_USD, Text } from './fields.js';
import { SETTLE_REASONS, type SettleReason, TokenUsage } from './holds.js';

/** Milliseconds between two announcements of a replica. */
export const REPLICA_INTERVAL_MS = 1_000;

export class ReplicaReady {
  @Id() replicaId!: string;
}

/** Published by every billing replica each second while it answers, so that all gateways send an account to the same replica. */
export const replicaReady = new Topic('billing.v1.event.replica-ready', ReplicaReady, 'A billing replica answers');

/*
 * Published after their commit, at most once (core NATS): the ledger is the truth. Amounts are integer strings of pico-USD.
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

/*
 * Money events are rows that are written in the transaction of the change that they tell of. They are delivered at least once, on NATS and
 * to webhooks, and in the order of their account.
 */

export const MONEY_EVENT_KINDS = [
  'balance-low',
  'balance-exhausted',
  'budget-threshold',
  'budget-exhausted',
  'budget-reset',
  'plan-expired',
  'key-expiring',
  'account-frozen',
  'ledger-fault',
  'spend-unusual',
] as const;
export type MoneyEventKind = (typeof MONEY_EVENT_KINDS)[number];

/** The fields that every money event has. */
export class MoneyEvent {
  /** The same in every delivery, so that a receiver can drop an event that it has seen. */
  @Id() eventId!: string;
  @IsIn(MONEY_EVENT_KINDS) kind!: MoneyEventKind;
  @Id() accountId!: string;
  /** 1, 2, 3, … of the account. */
  @IsInt() @Min(1) sequence!: number;
  @Instant() createdAt!: string;
  /** The account's name when the event was written. Absent for events that an earlier version wrote. */
  @IsOptional() @Text(NAME_LENGTH_MAX) accountName?: string;
}

export class BalanceLow extends MoneyEvent {
  @Matches(PICO_USD) balancePicoUsd!: string;
  @Matches(PICO_USD) lowBalancePicoUsd!: string;
}

/** Each time the balance, credit line included, crosses the threshold of the account downwards or gets one that is above it. */
export const balanceLow = new Topic('billing.v1.event.balance-low', BalanceLow, "A balance fell below its account's threshold");

export class BalanceExhausted extends MoneyEvent {
  @Matches(PICO_USD) balancePicoUsd!: string;
  @Matches(PICO_USD) requiredPicoUsd!: string;
}

/**
 * A request was refused that the whole balance, held money included, cannot cover. Of all refusals of an account for money or a budget, at
 * most one a minute is an event.
 */
export const balanceExhausted = new Topic(
  'billing.v1.event.balance-exhausted',
  BalanceExhausted,
  'A balance cannot cover a request of its account',
);

/** Room for the names and the value that the name of a budget is made of. */
const BUDGET_NAME_LENGTH_MAX = 1_000;

/** The budget that an event tells of. */
class BudgetEvent extends MoneyEvent {
  @Id() budgetId!: string;
  /** Null: the budget of the whole account. */
  @Clearable() @Id() projectId!: string | null;
  /** Null: the budget of the whole project or account. */
  @Clearable() @Id() keyId!: string | null;
  /** `user`, `client`, `session`, `agent`, `child` or `tag:<name>` with the `value` that the budget is of. Absent: the budget counts all requests. */
  @IsOptional() @Matches(DIMENSION) dimension?: string;
  @IsOptional() @AttributionValue() value?: string;
  /** Names when the event was written, as `accountName`. */
  @IsOptional() @Text(NAME_LENGTH_MAX) projectName?: string;
  @IsOptional() @Text(NAME_LENGTH_MAX) keyName?: string;
  /** `monthly budget of project web`. */
  @IsOptional() @Text(BUDGET_NAME_LENGTH_MAX) budgetName?: string;
  @IsIn(BUDGET_PERIODS) period!: BudgetPeriod;
  /** Absent, as its other amounts, for a budget of tokens. */
  @IsOptional() @Matches(PICO_USD) limitPicoUsd?: string;
  @IsOptional() @Matches(PICO_USD) spentPicoUsd?: string;
  /** Only for a budget of tokens. */
  @IsOptional() @IsInt() @Min(0) limitTokens?: number;
  @IsOptional() @IsInt() @Min(0) spentTokens?: number;
  /** The window that the event belongs to. Null for `total`. */
  @Clearable() @Instant() windowStart!: string | null;
  @Clearable() @Instant() resetsAt!: string | null;
}

export class BudgetThreshold extends BudgetEvent {
  /** The threshold that was passed, in percent of the limit. */
  @IsInt() @Min(1) @Max(100) percent!: number;
}

/** Spending reached a threshold of a budget: once for each threshold and window. */
export const budgetThreshold = new Topic('billing.v1.event.budget-threshold', BudgetThreshold, 'A budget passed one of its thresholds');

export class BudgetExhausted extends BudgetEvent {
  @IsOptional() @Matches(PICO_USD) requiredPicoUsd?: string;
  @IsOptional() @IsInt() @Min(0) requiredTokens?: number;
}

/** A request was refused that a budget could not cover even if nothing were held. At most one a minute, as `balance-exhausted`. */
export const budgetExhausted = new Topic('billing.v1.event.budget-exhausted', BudgetExhausted, 'A budget cannot cover a request');

/** The budget as its new window begins; `spent…` is what the window before has spent. */
export class BudgetReset extends BudgetEvent {}

/** A budget of an account, project or key has begun its next window, whether or not there are requests. */
export const budgetReset = new Topic('billing.v1.event.budget-reset', BudgetReset, 'A budget began its next window');

export class PlanExpired extends MoneyEvent {
  @Id() grantId!: string;
  /** The part of the grant that was neither used nor held. */
  @Matches(PICO_USD) forfeitedPicoUsd!: string;
}

export const planExpired = new Topic('billing.v1.event.plan-expired', PlanExpired, 'A plan grant expired or was replaced');

export class KeyExpiring extends MoneyEvent {
  @Id() keyId!: string;
  @Id() projectId!: string;
  /** Names when the event was written. `…a1b2`, the end of the key, for one without a name. */
  @IsOptional() @Text(NAME_LENGTH_MAX) keyName?: string;
  @IsOptional() @Text(NAME_LENGTH_MAX) projectName?: string;
  @Instant() expiresAt!: string;
}

/** An active key without a successor ends within seven days: once for each end that it is given. */
export const keyExpiring = new Topic('billing.v1.event.key-expiring', KeyExpiring, 'An API key will soon expire');

export class AccountFrozen extends MoneyEvent {
  /** The operator's, or the rules that the ledger check found broken. */
  @Clearable() @Text(1_000) reason!: string | null;
}

export const accountFrozen = new Topic(
  'billing.v1.event.account-frozen',
  AccountFrozen,
  'An account was frozen, by an operator or by the ledger check',
);

export class LedgerFault extends MoneyEvent {
  /** Ids of the broken invariants, sorted. */
  @IsArray() @ArrayMaxSize(32) @Matches(/^I\d+$/, { each: true }) invariants!: string[];
  @Instant() checkedAt!: string;
}

/** The scheduled ledger check found that invariants of an account are broken: once a day for the same ones. */
export const ledgerFault = new Topic('billing.v1.event.ledger-fault', LedgerFault, 'The ledger check found a fault in an account');

export class SpendUnusual extends MoneyEvent {
  @Id() projectId!: string;
  /** Its name when the event was written. */
  @IsOptional() @Text(NAME_LENGTH_MAX) projectName?: string;
  /** Start of the hour. */
  @Instant() hour!: string;
  /** Amount that the project had spent in the hour when the event was written. */
  @Matches(PICO_USD) spentPicoUsd!: string;
  /** The median of its hours with spend of the seven days before. */
  @Matches(PICO_USD) medianPicoUsd!: string;
}

/** A project spends at least a dollar in an hour, and more than six times its median hour: once for an hour. */
export const spendUnusual = new Topic(
  'billing.v1.event.spend-unusual',
  SpendUnusual,
  'A project spends far more than in its ordinary hours',
);

export const MONEY_EVENT_TOPICS = {
  'balance-low': balanceLow,
  'balance-exhausted': balanceExhausted,
  'budget-threshold': budgetThreshold,
  'budget-exhausted': budgetExhausted,
  'budget-reset': budgetReset,
  'plan-expired': planExpired,
  'key-expiring': keyExpiring,
  'account-frozen': accountFrozen,
  'ledger-fault': ledgerFault,
  'spend-unusual': spendUnusual,
} satisfies Record<MoneyEventKind, Topic<MoneyEvent>>;
