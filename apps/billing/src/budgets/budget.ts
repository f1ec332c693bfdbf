import type { BudgetPeriod } from '#contracts/billing/budgets.js';
import type { ExceededBudget } from '#contracts/billing/holds.js';
import type { BudgetWindow } from './budget-window.js';

/** A budget in its current window: a row of `billing.budget`. Amounts are in pico-USD. */
export interface BudgetState extends BudgetWindow {
  budgetId: string;
  accountId: string;
  projectId: string | null;
  keyId: string | null;
  period: BudgetPeriod;
  timeZone: string;
  limit: bigint;
  spent: bigint;
  held: bigint;
  /** Percentages of the limit, ascending. */
  thresholds: readonly number[];
  /** The highest threshold of which the window has had its event; 0: none. */
  passed: number;
}

/** Columns of `billing.budget` that every query reads. Sums are text, in pico-USD. */
export interface BudgetColumns {
  id: string;
  account_id: string;
  project_id: string | null;
  key_id: string | null;
  period: BudgetPeriod;
  time_zone: string;
  spent: string;
  held: string;
  thresholds: number[];
  passed: number;
}

/** The account, project and key that a request counts for. */
export interface Payer {
  accountId: string;
  projectId: string;
  keyId: string;
}

/** Budgets of one account by `targetOf`. A target without budgets has an empty list, an unknown one none. */
export type BudgetsOfAccount = ReadonlyMap<string, readonly BudgetState[]>;

/** Budgets by account. Accounts without budgets are absent. */
export type Budgets = ReadonlyMap<string, BudgetsOfAccount>;

const NONE: readonly BudgetState[] = [];

export function targetOf({ projectId, keyId }: Pick<BudgetState, 'projectId' | 'keyId'>): string {
  if (keyId !== null) return `key/${keyId}`;
  return projectId === null ? 'account' : `project/${projectId}`;
}

/** Returns the targets whose budgets a request counts in, the widest first. */
export function targetsOf({ projectId, keyId }: Payer): string[] {
  return ['account', `project/${projectId}`, `key/${keyId}`];
}

/** Returns the budgets that a request counts in, those of the account first. */
export function budgetsOf(budgets: Budgets, payer: Payer): readonly BudgetState[] {
  const ofAccount = budgets.get(payer.accountId);
  return ofAccount ? targetsOf(payer).flatMap((target) => ofAccount.get(target) ?? NONE) : NONE;
}

/** Returns the budgets in whose window a hold was opened: those that its amount and its cost count in. */
export function budgetsOfHold(budgets: Budgets, hold: Payer & { createdAt: number }): readonly BudgetState[] {
  return budgetsOf(budgets, hold).filter(({ windowStart }) => windowStart <= hold.createdAt);
}

/** Returns what a hold may take. Zero when the limit was lowered below what is spent. */
export function leftOf({ limit, spent, held }: BudgetState): bigint {
  const left = limit - spent - held;
  return left > 0n ? left : 0n;
}

/** Returns the budget that has less than `amount` left. Of several, the one that resets last, since the request must wait for it. */
export function exceededBudget(budgets: readonly BudgetState[], amount: bigint): ExceededBudget | undefined {
  let last: BudgetState | undefined;
  for (const budget of budgets) if (amount > leftOf(budget) && budget.windowEnd >= (last?.windowEnd ?? 0)) last = budget;
  if (!last) return undefined;
  const { budgetId, projectId, keyId, period, limit, windowEnd } = last;
  return {
    budgetId,
    projectId,
    keyId,
    period,
    limitPicoUsd: String(limit),
    leftPicoUsd: String(leftOf(last)),
    resetsAt: renderMoment(windowEnd),
  };
}

/** Renders the end of a window; null when there is none. */
export function renderMoment(at: number): string | null {
  return Number.isFinite(at) ? new Date(at).toISOString() : null;
}
