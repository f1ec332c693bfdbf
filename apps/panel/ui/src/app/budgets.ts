import type { Budget, BudgetPeriod } from '../../../src/api/shapes/budgets.js';

/** The window of a budget, in words. */
export const PERIODS: Record<BudgetPeriod, { each: string; now: string }> = {
  day: { each: 'Each day', now: 'today' },
  week: { each: 'Each week', now: 'this week' },
  month: { each: 'Each month', now: 'this month' },
  total: { each: 'In all', now: 'in all' },
};

/** Part of the limit that is neither spent nor held. */
export function leftOf({ limitPicoUsd, spentPicoUsd, heldPicoUsd }: Budget): bigint {
  const left = BigInt(limitPicoUsd) - BigInt(spentPicoUsd) - BigInt(heldPicoUsd);
  return left > 0n ? left : 0n;
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
export function shareSpent({ limitPicoUsd, spentPicoUsd }: Budget): number {
  const [limit, spent] = [BigInt(limitPicoUsd), BigInt(spentPicoUsd)];
  return limit > 0n ? Number((spent * 1_000_000n) / limit) / 1_000_000 : 1;
}
