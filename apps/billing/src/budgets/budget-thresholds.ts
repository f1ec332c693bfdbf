import type { BudgetState } from './budget.js';

/** Returns the thresholds that the budget has reached with what it has spent, and of which its window has had no event, ascending. */
export function newlyPassed({ thresholds, limit, passed }: BudgetState, spent: bigint): number[] {
  return thresholds.filter((percent) => percent > passed && isReached(spent, limit, percent));
}

/** Returns the sum at which the next threshold is reached; null: there is none. */
export function nextThreshold({ thresholds, limit, passed }: BudgetState): bigint | null {
  const percent = thresholds.find((one) => one > passed);
  if (percent === undefined) return null;
  const sum = (BigInt(percent) * limit + 99n) / 100n;
  return sum > 0n ? sum : 1n;
}

/** Returns the highest threshold that the budget has reached; 0: none. A higher limit takes back what was reached under the lower one. */
export function highestReached({ thresholds, spent, limit }: BudgetState): number {
  return thresholds.findLast((percent) => isReached(spent, limit, percent)) ?? 0;
}

/** A budget of 0, which refuses all that costs something, reaches no threshold. */
function isReached(spent: bigint, limit: bigint, percent: number): boolean {
  return spent > 0n && spent * 100n >= BigInt(percent) * limit;
}
