import type { ExceededBudget } from '#contracts/billing/holds.js';
import {
  type BudgetState,
  type Budgets,
  type CountingBudget,
  findBudgets,
  inUnit,
  renderMoment,
  type ValueChange,
  valueKey,
} from '../budgets/budget.js';
import type { Payer } from '../payer/payer.js';
import type { AccountState, BatchDraft } from './batch.js';

/** Amounts that a request holds or spends, by unit of budgets. */
export interface Amounts {
  usd: bigint;
  tokens: number;
}

/** Returns the amount in the unit of the budget. */
export function amountIn({ unit }: Pick<BudgetState, 'unit'>, amounts: Amounts | undefined): bigint {
  return amounts ? BigInt(amounts[unit]) : 0n;
}

/**
 * Adds to what is held and spent in budgets. The account of one that counts all requests is written too: its version tells other replicas of
 * the change. No sum becomes negative: a settlement must not fail because a replica of a release without budgets opened its hold. `mustFit` is
 * set for a reserve, which must fit in the limits of users and tags.
 */
export function countInBudgets(
  draft: BatchDraft,
  counting: readonly CountingBudget[],
  account: AccountState,
  { held, spent, mustFit = false }: { held?: Amounts; spent?: Amounts; mustFit?: boolean },
): void {
  for (const { budget, value, ownLimit, windowEnd } of counting) {
    const [heldMore, spentMore] = [amountIn(budget, held), amountIn(budget, spent)];
    if (value === undefined) {
      budget.held = notNegative(budget.held + heldMore);
      budget.spent = notNegative(budget.spent + spentMore);
      draft.changed.add(budget).add(account);
    } else if (heldMore !== 0n || spentMore !== 0n) {
      const change = openChange(draft, budget, value, windowEnd);
      change.held += heldMore;
      change.spent += spentMore;
      if (!mustFit) continue;
      change.limit = budget.limit;
      change.ownLimit = least(change.ownLimit, ownLimit);
    }
  }
}

/** Returns the change that the batch makes to what a user or tag has used. */
function openChange(draft: BatchDraft, budget: BudgetState, value: string, windowEnd = budget.windowEnd): ValueChange {
  const name = valueKey(budget, value);
  const known = draft.values.get(name);
  if (known) return known;
  const { budgetId, accountId } = budget;
  const change = { budgetId, accountId, value, windowEnd, spent: 0n, held: 0n, limit: null, nextThreshold: null };
  draft.values.set(name, change);
  return change;
}

/** Returns what is used of budgets. A user or tag that is not known has no entry: it is checked when the batch is written. */
export function listUses(draft: BatchDraft, counting: readonly CountingBudget[]): BudgetUse[] {
  const uses: BudgetUse[] = [];
  for (const { budget, value, ownLimit, windowEnd = budget.windowEnd } of counting) {
    const { limit } = budget;
    if (value === undefined) uses.push({ budget, limit, windowEnd, spent: budget.spent, held: budget.held });
    else if (draft.valuesBefore) {
      const name = valueKey(budget, value);
      const [before, change] = [draft.valuesBefore.get(name), draft.values.get(name)];
      const held = notNegative((before?.held ?? 0n) + (change?.held ?? 0n));
      const spent = notNegative((before?.spent ?? 0n) + (change?.spent ?? 0n));
      const lowest = least(limit, ownLimit, before?.ownLimit, change?.ownLimit) ?? limit;
      uses.push({ budget, value, limit: lowest, windowEnd, spent, held });
    }
  }
  return uses;
}

/** Amounts spent and held of a budget: for one value, if it has a dimension. */
export interface BudgetUse extends Pick<CountingBudget, 'budget' | 'value'> {
  /** Limit of the budget, or the lower one that the value has. */
  limit: bigint;
  /** End of the window of the budget, or of the child key. */
  windowEnd: number;
  spent: bigint;
  held: bigint;
}

/** Returns the amount that a hold may still take. Zero when the limit was lowered below the amount spent. */
export function computeLeft({ limit, spent, held }: Pick<BudgetUse, 'limit' | 'spent' | 'held'>): bigint {
  const left = limit - spent - held;
  return left > 0n ? left : 0n;
}

/**
 * Returns the budget that has less left than the request holds. Among several, a budget of all requests wins over one of a user or tag,
 * which the client may not know; then the one that resets last wins, since the request must wait for it.
 */
export function exceededBudget(uses: readonly BudgetUse[], amounts: Amounts): ExceededBudget | undefined {
  const exceeded = uses.filter((use) => amountIn(use.budget, amounts) > computeLeft(use));
  if (exceeded.length === 0) return undefined;
  const ofAll = exceeded.filter(({ value }) => value === undefined);
  const named = ofAll.length > 0 ? ofAll : exceeded;
  const last = named.reduce((one, other) => (other.budget.windowEnd >= one.budget.windowEnd ? other : one));
  const { limit, spent, held } = last;
  const { budgetId, projectId, keyId, dimension, period, unit, windowEnd } = last.budget;
  return {
    budgetId,
    projectId,
    keyId,
    ...(dimension !== undefined && { dimension, value: last.value }),
    period,
    ...inUnit(unit, { limit, spent, held, left: computeLeft(last) }),
    resetsAt: renderMoment(windowEnd),
  };
}

/** Returns the budgets that count the hold's amount and cost: those in whose window it was opened. */
export function findHoldBudgets(budgets: Budgets, hold: Payer & { createdAt: number }): readonly CountingBudget[] {
  return findBudgets(budgets, hold).filter(({ budget }) => budget.windowStart <= hold.createdAt);
}

/** Returns the least of the amounts that are known; undefined when none is. */
function least(...amounts: readonly (bigint | undefined)[]): bigint | undefined {
  return amounts.reduce((one, other) => (one === undefined || (other !== undefined && other < one) ? other : one));
}

function notNegative(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}
