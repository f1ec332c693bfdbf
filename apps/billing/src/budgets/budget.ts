import { CHILD } from '#contracts/billing/attribution.js';
import type { BudgetPeriod, BudgetUnit } from '#contracts/billing/budgets.js';
import { listChain, readChildEnd } from '#contracts/rules/child-path.js';
import { type BudgetWindow, windowAt } from '../calendar/budget-window.js';
import { listTargets, type Payer } from '../payer/payer.js';

/** A budget in its current window: a row of `billing.budget`. Amounts are in its unit: pico-USD or tokens. */
export interface BudgetState extends BudgetWindow {
  budgetId: string;
  accountId: string;
  projectId: string | null;
  /** First key of its rotations. */
  keyId: string | null;
  /**
   * `user`, `client`, `session`, `agent`, `child` or `tag:<name>`: the limit applies to each value separately. Absent: the budget counts all
   * requests of its target.
   */
  dimension?: string;
  /** The only value of the dimension that has the limit. Absent: each value has it. */
  value?: string;
  period: BudgetPeriod;
  timeZone: string;
  /** Day of the week (1: Monday) or of the month on which the window starts. */
  startDay: number;
  unit: BudgetUnit;
  limit: bigint;
  /** Zero with a `dimension`: `billing.budget_value` counts those. */
  spent: bigint;
  held: bigint;
  /** Percentages of the limit, ascending. Empty for a budget of each value. */
  thresholds: readonly number[];
  /** Highest threshold, in percent, already announced in this window; 0 when none was. */
  passed: number;
}

/** Settings of a budget besides its limit. */
export type BudgetSettings = Pick<BudgetState, 'timeZone' | 'startDay' | 'thresholds'>;

/** Columns of a `BudgetRow`, of the table `b`. `used` selects what is spent and held. */
export function budgetColumns(used = 'spent::text, held::text'): string {
  return `b.id, account_id, project_id, key_id, dimension, value, period, time_zone, start_day, unit, limit_amount::text, ${used},
      thresholds, passed,
      (extract(epoch FROM window_start) * 1000)::float8 AS window_start, (extract(epoch FROM window_end) * 1000)::float8 AS window_end`;
}

/** A row of `billing.budget`: sums are text, times milliseconds. An end that a window does not have is an infinity, in Prisma's rows null. */
export interface BudgetRow {
  id: string;
  account_id: string;
  project_id: string | null;
  key_id: string | null;
  dimension: string | null;
  value: string | null;
  period: BudgetPeriod;
  time_zone: string;
  start_day: number;
  unit: BudgetUnit;
  limit_amount: string;
  spent: string;
  held: string;
  thresholds: number[];
  passed: number;
  window_start: number | null;
  window_end: number | null;
}

export function budgetState(row: BudgetRow): BudgetState {
  return {
    budgetId: row.id,
    accountId: row.account_id,
    projectId: row.project_id,
    keyId: row.key_id,
    ...(row.dimension !== null && { dimension: row.dimension }),
    ...(row.value !== null && { value: row.value }),
    period: row.period,
    timeZone: row.time_zone,
    startDay: row.start_day,
    unit: row.unit,
    limit: BigInt(row.limit_amount),
    spent: BigInt(row.spent),
    held: BigInt(row.held),
    thresholds: row.thresholds,
    passed: row.passed,
    windowStart: row.window_start ?? Number.NEGATIVE_INFINITY,
    windowEnd: row.window_end ?? Number.POSITIVE_INFINITY,
  };
}

/** Returns the window of a budget that contains `now`. */
export function budgetWindowAt({ period, timeZone, startDay }: Pick<BudgetState, 'period'> & BudgetSettings, now: number): BudgetWindow {
  return windowAt(period, timeZone, now, startDay);
}

type InUnit<Name extends string> = { [Field in `${Name}PicoUsd`]?: string } & { [Field in `${Name}Tokens`]?: number };

/** Names amounts by their unit, as contracts have them: `limit` becomes `limitPicoUsd`, a text, or `limitTokens`, a number. */
export function inUnit<Name extends string>(unit: BudgetUnit, amounts: Readonly<Record<Name, bigint | string>>): InUnit<Name> {
  const named = Object.entries<bigint | string>(amounts).map(([name, amount]) =>
    unit === 'tokens' ? [`${name}Tokens`, Number(amount)] : [`${name}PicoUsd`, String(amount)],
  );
  return Object.fromEntries(named) as InUnit<Name>;
}

/** Budgets of one account by `budgetTarget`. A target without budgets has an empty list, an unknown one none. */
export type AccountBudgets = ReadonlyMap<string, readonly BudgetState[]>;

/** Budgets by account. Accounts without budgets are absent. */
export type Budgets = ReadonlyMap<string, AccountBudgets>;

/** The id of the key, project or account whose requests a budget counts: one of `listTargets`. */
export function budgetTarget({ accountId, projectId, keyId }: Pick<BudgetState, 'accountId' | 'projectId' | 'keyId'>): string {
  return keyId ?? projectId ?? accountId;
}

/** A budget that counts a request. */
export interface CountingBudget {
  budget: BudgetState;
  /** The user, session or other value whose limit the request uses. Undefined: all requests share one limit. */
  value?: string | undefined;
  /** The most that the request lets its session or child key use. Undefined: the limit of the budget. */
  ownLimit?: bigint | undefined;
  /** Absent: that of the budget. */
  windowEnd?: number;
}

const NONE: readonly CountingBudget[] = [];

/** Returns the budgets that count the request, those of the account first. */
export function findBudgets(budgets: Budgets, payer: Payer): readonly CountingBudget[] {
  const ofAccount = budgets.get(payer.accountId);
  if (!ofAccount) return NONE;
  const counting: CountingBudget[] = [];
  for (const target of listTargets(payer)) {
    for (const budget of ofAccount.get(target) ?? []) {
      if (budget.dimension === undefined) {
        counting.push({ budget });
        continue;
      }
      const value = payer.attribution?.[budget.dimension];
      if (value === undefined || (budget.value ?? value) !== value) continue;
      if (budget.dimension === CHILD) {
        counting.push(...countChain(budget, value, payer));
        continue;
      }
      counting.push(countsSession(budget) ? { budget, value, ownLimit: payer.sessionLimit } : { budget, value });
    }
  }
  return counting;
}

/** Returns the uses of a budget of child keys: each child key of the chain counts the request until it ends, and until the request does. */
function countChain(budget: BudgetState, path: string, { childLimits }: Payer): CountingBudget[] {
  const limits = budget.unit === 'usd' ? childLimits : undefined;
  return listChain(path).map((value, depth) => ({ budget, value, ownLimit: limits?.[depth], windowEnd: readChildEnd(value) }));
}

/** True for a budget that `Payer.sessionLimit` lowers. */
export function countsSession({ dimension, unit }: BudgetState): boolean {
  return dimension === 'session' && unit === 'usd';
}

/** True for a budget of each user, session or other value. Any other has one sum, and announces thresholds. */
export function isPerValue({ dimension, value }: { dimension?: string | null; value?: string | null }): boolean {
  return typeof dimension === 'string' && typeof value !== 'string';
}

/** Renders the budget of an event, with what it has spent. */
export function renderPayload(
  { budgetId, projectId, keyId, dimension, value, period, unit, limit, windowStart, windowEnd }: BudgetState,
  spent: bigint,
) {
  return {
    ...{ budgetId, projectId, keyId, ...(dimension !== undefined && { dimension, value }), period, ...inUnit(unit, { limit, spent }) },
    ...{ windowStart: renderMoment(windowStart), resetsAt: renderMoment(windowEnd) },
  };
}

/** Renders the end of a window; null when there is none. */
export function renderMoment(at: number): string | null {
  return Number.isFinite(at) ? new Date(at).toISOString() : null;
}

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

/** Sums of one value of a budget in its window. */
export interface ValueCount {
  spent: bigint;
  held: bigint;
  /** The lowest limit that a hold has named for the value. Undefined: that of the budget. */
  ownLimit?: bigint | undefined;
}

/** By `valueKey`. Values that count nothing yet are absent. */
export type ValueCounts = ReadonlyMap<string, ValueCount>;

/** Change that a batch makes to a row of `billing.budget_value`. */
export interface ValueChange extends ValueCount {
  budgetId: string;
  accountId: string;
  value: string;
  windowEnd: number;
  /** Most that the budget lets the value spend and hold afterwards. Null: the batch holds nothing more for the value. */
  limit: bigint | null;
  /** Sum of what is spent at which the next threshold is an event. Null: there is none. */
  nextThreshold: bigint | null;
}

export function valueKey({ budgetId }: { budgetId: string }, value: string): string {
  return `${budgetId} ${value}`;
}
