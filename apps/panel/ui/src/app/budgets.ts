import type { Budget, BudgetPeriod } from '../../../src/api/shapes/budgets.js';
import { count } from '../parts/count.js';
import { exactUsd } from '../parts/usd.js';

/** The window of a budget, in words. */
export const PERIODS: Record<BudgetPeriod, { each: string; now: string }> = {
  day: { each: 'Each day', now: 'today' },
  week: { each: 'Each week', now: 'this week' },
  month: { each: 'Each month', now: 'this month' },
  total: { each: 'In all', now: 'in all' },
};

export const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/** Amounts of a budget in its unit: pico-USD or tokens. */
export function amountsOf(budget: Budget): { limit: bigint; spent: bigint; held: bigint } {
  const of = budget.unit === 'tokens' ? 'Tokens' : 'PicoUsd';
  const [limit, spent, held] = [budget[`limit${of}`], budget[`spent${of}`], budget[`held${of}`]];
  return { limit: BigInt(limit ?? 0), spent: BigInt(spent ?? 0), held: BigInt(held ?? 0) };
}

/** `$5.00` or `1,000 tokens`. */
export function renderAmount({ unit }: Budget, amount: bigint): string {
  return unit === 'tokens' ? `${count(Number(amount))} tokens` : exactUsd(amount);
}

/** Part of the limit that is neither spent nor held. */
export function leftOf(budget: Budget): bigint {
  const { limit, spent, held } = amountsOf(budget);
  return limit > spent + held ? limit - spent - held : 0n;
}

export type Target = { projectId: string } | { keyId: string };

/** The budget of all requests of a project or key with the largest share spent, which is the one that refuses first. Undefined: it has none. */
export function tightestOf(budgets: readonly Budget[] | undefined, of: Target): Budget | undefined {
  return budgets
    ?.filter((budget) => budget.dimension === null)
    .filter((budget) => ('keyId' in of ? budget.keyId === of.keyId : budget.keyId === null && budget.projectId === of.projectId))
    .toSorted((one, other) => shareSpent(other) - shareSpent(one))[0];
}

/** From 0 to 1, for drawing and comparing; above 1 after the limit was lowered. */
export function shareSpent(budget: Budget): number {
  const { limit, spent } = amountsOf(budget);
  return limit > 0n ? Number((spent * 1_000_000n) / limit) / 1_000_000 : 1;
}
