import { endDueGrant } from '../balance/funds.js';
import { type AccountBudgets, type Amounts, amountIn, type BudgetState, type BudgetUse, type CountingBudget } from '../budgets/budget.js';
import { type ValueChange, type ValueCounts, valueKey } from '../budgets/budget-values.js';
import type { AccountRateLimits, RateLimitState } from '../limits/rate-limit.js';
import type { AccountState, BatchRows, BatchState, KeyState, ProjectState } from './batch.js';
import type { Hold, ReapedHold } from './hold.js';

/** Fields that tell a repeated reserve from another one with the same id. */
export type Held = Pick<Hold, 'accountId' | 'projectId' | 'amount'>;

/** Working copy of the state of one fold, and the rows it will write. */
export interface BatchDraft {
  readonly now: number;
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly projects: ReadonlyMap<string, ProjectState>;
  readonly keys: ReadonlyMap<string, KeyState>;
  readonly budgets: BatchState['budgets'];
  /** Counts of users and tags before the batch. Absent: unknown. */
  readonly valuesBefore: ValueCounts | undefined;
  /** Changes that the batch makes to them, by `valueKey`. */
  readonly values: Map<string, ValueChange>;
  readonly limits: BatchState['limits'];
  /** Open holds among the ids of the batch, before the batch. */
  readonly openBefore: ReadonlyMap<string, Hold>;
  /** Open holds among the ids of the batch, at this point of the fold: without those ended, with those opened. */
  readonly openNow: Map<string, Held>;
  /** Costs of the settled holds among the ids of the batch, including those that the batch settles. */
  readonly settlements: Map<string, bigint>;
  readonly detached: BatchState['detached'];
  /** Holds that may be settled late, once. */
  readonly reaped: Map<string, ReapedHold>;
  readonly rows: Omit<BatchRows, 'accounts' | 'projects' | 'budgets' | 'values' | 'limits'>;
  readonly changed: Set<object>;
}

/** Copies the state, and ends every plan grant that is due. */
export function startDraft(state: BatchState): BatchDraft {
  const draft: BatchDraft = {
    now: state.now,
    accounts: new Map(Array.from(state.accounts, ([id, account]) => [id, { ...account, funds: { ...account.funds } }])),
    projects: new Map(Array.from(state.projects, ([id, project]) => [id, { ...project }])),
    keys: state.keys,
    budgets: new Map(Array.from(state.budgets, ([id, ofAccount]) => [id, copyBudgets(ofAccount)])),
    valuesBefore: state.values,
    values: new Map(),
    limits: new Map(Array.from(state.limits, ([id, ofAccount]) => [id, copyLimits(ofAccount)])),
    openBefore: state.holds,
    openNow: new Map(state.holds),
    settlements: new Map(state.settlements),
    detached: state.detached,
    reaped: new Map(state.reaped),
    rows: { opened: [], settled: [], late: [], tombstones: [], forfeits: [], events: [] },
    changed: new Set(),
  };
  for (const account of draft.accounts.values()) {
    const forfeit = endDueGrant(account.funds, draft.now);
    if (!forfeit) continue;
    draft.rows.forfeits.push({ accountId: account.accountId, ...forfeit });
    draft.changed.add(account);
  }
  return draft;
}

export function toRows(draft: BatchDraft): BatchRows {
  return {
    accounts: [...draft.accounts.values()].filter((account) => draft.changed.has(account)),
    projects: [...draft.projects.values()].filter((project) => draft.changed.has(project)),
    budgets: [...draft.budgets.values()].flatMap((ofAccount) =>
      [...ofAccount.values()].flat().filter((budget) => draft.changed.has(budget)),
    ),
    values: [...draft.values.values()],
    limits: [...draft.limits.values()].flatMap((ofAccount) =>
      [...ofAccount.values()].filter((row) => row !== null && draft.changed.has(row)),
    ) as RateLimitState[],
    ...draft.rows,
  };
}

/**
 * Adds to what is held and spent in budgets. The account of one that counts all requests is written too: its version tells other replicas of
 * the change. No sum becomes negative: a settlement must not fail because a replica of a release without budgets opened its hold. `holds` is
 * set for a reserve, which must fit in the limits of users and tags.
 */
export function countInBudgets(
  draft: BatchDraft,
  counting: readonly CountingBudget[],
  account: AccountState,
  { held, spent, holds = false }: { held?: Amounts; spent?: Amounts; holds?: boolean },
): void {
  for (const { budget, value } of counting) {
    const [heldMore, spentMore] = [amountIn(budget, held), amountIn(budget, spent)];
    if (value === undefined) {
      budget.held = notNegative(budget.held + heldMore);
      budget.spent = notNegative(budget.spent + spentMore);
      draft.changed.add(budget).add(account);
    } else if (heldMore !== 0n || spentMore !== 0n) {
      const change = openChange(draft, budget, value);
      change.held += heldMore;
      change.spent += spentMore;
      if (holds) change.limit = budget.limit;
    }
  }
}

/** Returns the change that the batch makes to what a user or tag has used. */
function openChange(draft: BatchDraft, budget: BudgetState, value: string): ValueChange {
  const name = valueKey(budget, value);
  const known = draft.values.get(name);
  if (known) return known;
  const { budgetId, accountId, windowEnd } = budget;
  const change = { budgetId, accountId, value, windowEnd, spent: 0n, held: 0n, limit: null, nextThreshold: null };
  draft.values.set(name, change);
  return change;
}

/** Returns what is used of budgets. A user or tag that is not known has no entry: it is checked when the batch is written. */
export function listUses(draft: BatchDraft, counting: readonly CountingBudget[]): BudgetUse[] {
  const uses: BudgetUse[] = [];
  for (const { budget, value } of counting) {
    if (value === undefined) uses.push({ budget, spent: budget.spent, held: budget.held });
    else if (draft.valuesBefore) {
      const name = valueKey(budget, value);
      const [before, change] = [draft.valuesBefore.get(name), draft.values.get(name)];
      const held = notNegative((before?.held ?? 0n) + (change?.held ?? 0n));
      const spent = notNegative((before?.spent ?? 0n) + (change?.spent ?? 0n));
      uses.push({ budget, value, spent, held });
    }
  }
  return uses;
}

function notNegative(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}

function copyBudgets(ofAccount: AccountBudgets): AccountBudgets {
  return new Map(Array.from(ofAccount, ([target, budgets]) => [target, budgets.map((budget) => ({ ...budget }))]));
}

function copyLimits(ofAccount: AccountRateLimits): AccountRateLimits {
  return new Map(Array.from(ofAccount, ([targetId, limit]) => [targetId, limit && { ...limit }]));
}
