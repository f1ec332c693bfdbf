import { type BudgetState, type Budgets, type Payer, targetsOf } from './budget.js';

/** A budget of end users or values of a tag, with the one of them that a request counts for. */
export interface ValueBudget {
  budget: BudgetState;
  value: string;
}

/** Sums of one value of a budget in its window. */
export interface ValueCount {
  spent: bigint;
  held: bigint;
}

/** By `nameOf`. Values that count nothing yet are absent. */
export type ValueCounts = ReadonlyMap<string, ValueCount>;

/** Change that a batch makes to a row of `billing.budget_value`. */
export interface ValueChange extends ValueCount {
  budgetId: string;
  accountId: string;
  value: string;
  windowEnd: number;
  /** Most that may be spent and held afterwards. Null: the batch holds nothing more for the value. */
  limit: bigint | null;
  /** Sum of what is spent at which the next threshold is an event. Null: there is none. */
  nextThreshold: bigint | null;
}

const NONE: readonly ValueBudget[] = [];

/** Returns the budgets of users and tags that a request counts in: those of the account first. */
export function valueBudgetsOf(budgets: Budgets, payer: Payer): readonly ValueBudget[] {
  const ofAccount = budgets.get(payer.accountId);
  const { attribution } = payer;
  if (!ofAccount || !attribution) return NONE;
  return targetsOf(payer).flatMap((target) =>
    (ofAccount.get(target) ?? []).flatMap((budget) => {
      const value = budget.dimension === undefined ? undefined : attribution[budget.dimension];
      return value === undefined || value !== (budget.value ?? value) ? NONE : { budget, value };
    }),
  );
}

/** Returns those in whose window a hold was opened. */
export function valueBudgetsOfHold(budgets: Budgets, hold: Payer & { createdAt: number }): readonly ValueBudget[] {
  return valueBudgetsOf(budgets, hold).filter(({ budget }) => budget.windowStart <= hold.createdAt);
}

export function nameOf({ budgetId }: { budgetId: string }, value: string): string {
  return `${budgetId} ${value}`;
}
