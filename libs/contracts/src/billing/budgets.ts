import { ArrayMaxSize, IsArray, IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import { Id, PICO_USD, Text } from './fields.js';

/** `total` never resets. Weeks begin on Monday. */
export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const;
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number];

export class BudgetSetRequest {
  @Id() accountId!: string;
  /** Absent, and no `keyId`: the budget of the whole account. */
  @IsOptional() @Id() projectId?: string;
  /** The budget of this key alone. */
  @IsOptional() @Id() keyId?: string;
  @IsIn(BUDGET_PERIODS) period!: BudgetPeriod;
  /** IANA name of the zone in which days, weeks and months begin. Default: that of the budget, or UTC for a new one. */
  @IsOptional() @Text(64) timeZone?: string;
  @Matches(PICO_USD) limitPicoUsd!: string;
  /**
   * Percentages of the limit: spending that reaches one is the event `budget-threshold`. Default: those of the budget, or 50, 80 and 100 for
   * a new one. Empty: no events.
   */
  @IsOptional() @IsArray() @ArrayMaxSize(10) @IsInt({ each: true }) @Min(1, { each: true }) @Max(100, { each: true }) thresholds?: number[];
}

/** A hard limit on the cost of requests whose hold is opened in the window. */
export interface Budget {
  budgetId: string;
  accountId: string;
  /** Null: the budget of the whole account. */
  projectId: string | null;
  /** Null: the budget of the whole project or account. */
  keyId: string | null;
  period: BudgetPeriod;
  timeZone: string;
  limitPicoUsd: string;
  /** Cost of the settled requests of the window. Above the limit only after the limit was lowered. */
  spentPicoUsd: string;
  /** The most that the running requests of the window may cost. */
  heldPicoUsd: string;
  /** Percentages of the limit that are events, ascending. */
  thresholds: number[];
  /** The current window. Null for `total`. */
  windowStart: string | null;
  /** End of the window: from then on nothing is spent or held. Null for `total`. */
  resetsAt: string | null;
  createdAt: string;
}

/** Replies `not_found` for an unknown account, project or key, and `conflict` when the account has 1,000 budgets. */
export const budgetSet = new Endpoint<BudgetSetRequest, Budget>(
  'billing.v1.budget.set',
  BudgetSetRequest,
  'Sets the budget of an account, project or key for a period, or changes its limit or time zone',
);

export class BudgetListRequest {
  @Id() accountId!: string;
  /** Only this budget; `not_found` when the account has none with this id. */
  @IsOptional() @Id() budgetId?: string;
}

export interface BudgetListReply {
  budgets: Budget[];
}

export const budgetList = new Endpoint<BudgetListRequest, BudgetListReply>(
  'billing.v1.budget.list',
  BudgetListRequest,
  'Budgets of an account with what is spent and held: those of the account, then of its projects and keys',
);

export class BudgetRemoveRequest {
  @Id() budgetId!: string;
}

export const budgetRemove = new Endpoint<BudgetRemoveRequest, Budget>(
  'billing.v1.budget.remove',
  BudgetRemoveRequest,
  'Removes a budget; running requests are not affected',
);
