import type { BudgetPeriod, BudgetUnit } from '#contracts/billing/budgets.js';
import type { ExceededBudget } from '#contracts/billing/holds.js';
import { type BudgetWindow, windowAt } from '../calendar/budget-window.js';
import type { Payer } from '../payer/payer.js';

/** A budget in its current window: a row of `billing.budget`. Amounts are in its unit: pico-USD or tokens. */
export interface BudgetState extends BudgetWindow {
  budgetId: string;
  accountId: string;
  projectId: string | null;
  /** First key of its rotations. */
  keyId: string | null;
  /** `user` or `tag:<name>`: the limit applies to each value separately. Absent: the budget counts all requests of its target. */
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

/** Amounts that a request holds or spends, by unit of budgets. */
export interface Amounts {
  usd: bigint;
  tokens: number;
}

/** Returns the amount in the unit of the budget. */
export function amountIn({ unit }: Pick<BudgetState, 'unit'>, amounts: Amounts | undefined): bigint {
  return amounts ? BigInt(amounts[unit]) : 0n;
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

/** The id of the key or project whose requests a budget counts, or `account`. */
export function budgetTarget({ projectId, keyId }: Pick<BudgetState, 'projectId' | 'keyId'>): string {
  return keyId ?? projectId ?? 'account';
}

/** Returns the targets whose budgets count the request, the widest first. */
export function budgetTargets({ projectId, rootKeyId }: Payer): string[] {
  return ['account', projectId, rootKeyId];
}

/** A budget that counts a request. `value` is the user or tag value whose limit it uses; undefined when all requests share one limit. */
export interface CountingBudget {
  budget: BudgetState;
  value?: string | undefined;
}

const NONE: readonly CountingBudget[] = [];

/** Returns the budgets that count the request, those of the account first. */
export function findBudgets(budgets: Budgets, payer: Payer): readonly CountingBudget[] {
  const ofAccount = budgets.get(payer.accountId);
  if (!ofAccount) return NONE;
  const counting: CountingBudget[] = [];
  for (const target of budgetTargets(payer)) {
    for (const budget of ofAccount.get(target) ?? []) {
      if (budget.dimension === undefined) {
        counting.push({ budget });
        continue;
      }
      const value = payer.attribution?.[budget.dimension];
      if (value !== undefined && (budget.value ?? value) === value) counting.push({ budget, value });
    }
  }
  return counting;
}

/** True for a budget of each user or each value of a tag. Any other has one sum, and announces thresholds. */
export function isPerValue({ dimension, value }: { dimension?: string | null; value?: string | null }): boolean {
  return typeof dimension === 'string' && typeof value !== 'string';
}

/** Returns the budgets that count the hold's amount and cost: those in whose window it was opened. */
export function findHoldBudgets(budgets: Budgets, hold: Payer & { createdAt: number }): readonly CountingBudget[] {
  return findBudgets(budgets, hold).filter(({ budget }) => budget.windowStart <= hold.createdAt);
}

/** Returns the amount that a hold may still take. Zero when the limit was lowered below the amount spent. */
export function computeLeft({ budget: { limit }, spent, held }: BudgetUse): bigint {
  const left = limit - spent - held;
  return left > 0n ? left : 0n;
}

/** Amounts spent and held of a budget: for one value, if it has a dimension. */
export interface BudgetUse extends CountingBudget {
  spent: bigint;
  held: bigint;
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
  const { budgetId, projectId, keyId, dimension, period, unit, limit, windowEnd } = last.budget;
  return {
    budgetId,
    projectId,
    keyId,
    ...(dimension !== undefined && { dimension, value: last.value }),
    period,
    ...inUnit(unit, { limit, spent: last.spent, held: last.held, left: computeLeft(last) }),
    resetsAt: renderMoment(windowEnd),
  };
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
