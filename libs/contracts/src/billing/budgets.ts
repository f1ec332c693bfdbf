import { ArrayMaxSize, IsArray, IsBoolean, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { MONTH_START_MAX } from '../rules/bounds.js';
import type { BudgetAmounts } from '../rules/budget-amounts.js';
import { AttributionValue, DIMENSION, NormalizedValue } from './attribution.js';
import { Id, type Paged, PICO_USD, Text } from './fields.js';

/** `total` never resets. */
export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

/** The cost of requests, or their tokens. */
export type BudgetUnit = BudgetAmounts['unit'];

export class BudgetSetRequest {
  @Id() accountId!: string;
  /** Absent, and no `keyId`: the budget of the whole account. */
  @IsOptional() @Id() projectId?: string;
  /** The budget of this key, and of those that rotations make from it. */
  @IsOptional() @Id() keyId?: string;
  /** `user`, `client`, `session`, `agent`, `child` or `tag:<name>`: each of its values has the limit for itself. Absent: all requests count together. */
  @IsOptional() @Matches(DIMENSION) dimension?: string;
  /** With `dimension`: the budget of this value alone. Trimmed, in Unicode's form NFKC and without invisible characters. */
  @IsOptional() @NormalizedValue() @AttributionValue() value?: string;
  @IsIn(BUDGET_PERIODS) period!: BudgetPeriod;
  /** IANA name of the zone in which days, weeks and months begin. Default: that of the budget, or UTC for a new one. */
  @IsOptional() @Text(64) timeZone?: string;
  /** Day on which weeks (1: Monday, to 7) or months (1 to 28) begin. Default: that of the budget, or 1 for a new one. */
  @IsOptional() @IsInt() @Min(1) @Max(MONTH_START_MAX) startDay?: number;
  /** Most that the requests of a period may cost. Give this or `limitTokens`: a target may have a budget of each unit. */
  @IsOptional() @Matches(PICO_USD) limitPicoUsd?: string;
  /** Most tokens that the requests of a period may use: those of prompts, cached ones included, and of outputs. */
  @IsOptional() @IsInt() @Min(0) @Max(Number.MAX_SAFE_INTEGER) limitTokens?: number;
  /**
   * Percentages of the limit: spending that reaches one is the event `budget-threshold`. Default: those of the budget, or 50, 80 and 100 for
   * a new one. Empty: no events. A budget of each value has none.
   */
  @IsOptional() @IsArray() @ArrayMaxSize(10) @IsInt({ each: true }) @Min(1, { each: true }) @Max(100, { each: true }) thresholds?: number[];
  /** True: makes a new budget or nothing. `conflict` when the target has one for the period in the unit; its details are `budgetId` and limit. */
  @IsOptional() @IsBoolean() createOnly?: boolean;
}

/** Refusals of a budget. The amount is in its unit. */
export interface BudgetRefusing {
  /** Time of the first one. */
  since: string;
  requiredPicoUsd?: string;
  requiredTokens?: number;
}

/** A hard limit on the cost or the tokens of requests whose hold is opened in the window. Its amounts are in pico-USD or in tokens. */
export interface Budget extends BudgetAmounts {
  budgetId: string;
  accountId: string;
  /** Null: the budget of the whole account. */
  projectId: string | null;
  /** `rootKeyId` of its key. Null: the budget of the whole project or account. */
  keyId: string | null;
  /** `user`, `client`, `session`, `agent`, `child` or `tag:<name>`. Null: all requests of the target count together. */
  dimension: string | null;
  /** The one value that the budget is of. Null with a `dimension`: each value has the limit for itself. */
  value: string | null;
  period: BudgetPeriod;
  timeZone: string;
  /** Day on which weeks (1: Monday) or months begin. 1 for the other periods. */
  startDay: number;
  /** Percentages of the limit that are events, ascending. None for a budget of each value. */
  thresholds: number[];
  /** Author of the budget. Absent: the operator; a customer may lower the limit of such a budget and change nothing else. */
  setBy?: 'customer';
  /** The operator's limit, in the unit of the budget, where the customer has lowered it. Absent: the limit of the budget. */
  operatorLimitPicoUsd?: string;
  operatorLimitTokens?: number;
  /**
   * Only in a list: the budget refused requests in its window and would refuse them again, because `limit − spent` is less than the smallest
   * one required. From events, of which an account has one a minute. Absent: it is not known to refuse any. Never for a budget of each value.
   */
  refusing?: BudgetRefusing;
  /** The current window. Null for `total`. */
  windowStart: string | null;
  /** End of the window: from then on nothing is spent or held. Null for `total`. */
  resetsAt: string | null;
  createdAt: string;
  /** Source of the tenants file that owns it: the next apply takes back other changes. Absent: none does. */
  managedBy?: string;
}

/**
 * Replies `not_found` for an unknown account, project or key, and `conflict` when the account has 1,000 budgets, for another time zone or
 * start day of a budget with a dimension, or for `createOnly` when the budget exists. Replies `permission_denied` when a customer would raise
 * an operator's budget above the operator's limit, or change its time zone, start day or thresholds.
 */
export const budgetSet = new Endpoint<BudgetSetRequest, Budget>('billing.v1.budget.set', BudgetSetRequest, {
  about:
    'Sets the budget of an account, project, key, or of each of their users, sessions or tags for a period, or changes its limit, time zone or start day',
  isRecorded: true,
});

export class BudgetListRequest {
  @Id() accountId!: string;
  /** Only this budget; `not_found` when the account has none with this id. */
  @IsOptional() @Id() budgetId?: string;
}

export interface BudgetListReply {
  budgets: Budget[];
}

export const budgetList = new Endpoint<BudgetListRequest, BudgetListReply>('billing.v1.budget.list', BudgetListRequest, {
  about: 'Budgets of an account with what is spent and held: those of the account, then of its projects and keys',
});

export class BudgetValuesRequest {
  @Id() accountId!: string;
  @Id() budgetId!: string;
  /** Only this value. */
  @IsOptional() @NormalizedValue() @AttributionValue() value?: string;
  /** Rows on one page. Default 100. */
  @IsOptional() @IsInt() @Min(1) @Max(1_000) limit?: number;
  /** `nextCursor` of the page before, with the same budget. */
  @IsOptional() @Text(2_000) cursor?: string;
}

/** Use of a budget by one value in the current window. */
export interface BudgetValue {
  value: string;
  /** Lower limit that requests of this session have named (`sessionLimitPicoUsd`). Absent: that of the budget. */
  limitPicoUsd?: string;
  /** Absent for a budget of tokens. */
  spentPicoUsd?: string;
  heldPicoUsd?: string;
  /** Only for a budget of tokens. */
  spentTokens?: number;
  heldTokens?: number;
}

export interface BudgetValuesReply extends Paged {
  budget: Budget;
  /** In the order of the values. Those that spent and hold nothing may be absent. */
  values: BudgetValue[];
}

/** Replies `not_found` when the account has no such budget with a dimension. */
export const budgetValues = new Endpoint<BudgetValuesRequest, BudgetValuesReply>('billing.v1.budget.values', BudgetValuesRequest, {
  about: 'Users, sessions, clients or values of a tag with what each has spent and holds of its budget',
});

export class BudgetRemoveRequest {
  @Id() budgetId!: string;
  /** Account that must have the budget. Absent: any. */
  @IsOptional() @Id() accountId?: string;
}

/** Replies `not_found` when there is no such budget or another account has it, and `permission_denied` when a customer would remove an operator's budget. */
export const budgetRemove = new Endpoint<BudgetRemoveRequest, Budget>('billing.v1.budget.remove', BudgetRemoveRequest, {
  about: 'Removes a budget; running requests are not affected',
  isRecorded: true,
});
