import type { Budget } from '#contracts/billing/budgets.js';
import { BUDGET_PLACE } from '#contracts/rules/audit-sentences.js';
import { changedFields } from '#database/audit-journal.js';
import { Prisma } from '#database/prisma-client.js';
import type { Level } from '../limits/operator-limits.js';
import { type BudgetRow, budgetColumns, budgetState, budgetWindowAt, inUnit, renderMoment } from './budget.js';

/** A row of `STORED_COLUMNS`: a budget with what its operator sees and a batch does not need. */
export interface StoredBudget extends BudgetRow {
  created_at: Date;
  set_by: Level;
  /** The operator's limit, in the unit of the budget, where the customer has lowered it. Null: `limit_amount`. */
  operator_limit: string | null;
}

/** Amount that a budget `b` counts: that of its value, if it is of one. */
const countedIn = (name: 'spent' | 'held') => `coalesce((SELECT v.${name} FROM billing.budget_value v
        WHERE v.budget_id = b.id AND v.window_end = b.window_end AND v.value = b.value), b.${name})::text AS ${name}`;

/** Columns of a `StoredBudget`, of the table `b`. */
export const STORED_COLUMNS = Prisma.raw(
  `${budgetColumns(`${countedIn('spent')}, ${countedIn('held')}`)}, created_at, set_by, operator_limit::text`,
);

/** Renders a budget as of `now`. One whose window is over has nothing spent or held in the next, which the next request begins. */
export function renderBudget(row: StoredBudget, now: number): Budget {
  const { budgetId, accountId, projectId, keyId, dimension = null, value = null, ...state } = budgetState(row);
  const { limit, spent, held, thresholds, passed, windowStart, windowEnd, ...fields } = state;
  const isOver = windowEnd <= now;
  const window = isOver ? budgetWindowAt(state, now) : { windowStart, windowEnd };
  return {
    ...{ budgetId, accountId, projectId, keyId, dimension, value, ...fields },
    ...inUnit(state.unit, { limit, spent: isOver ? 0n : spent, held: isOver ? 0n : held }),
    thresholds: [...thresholds],
    ...operatorFields(row),
    windowStart: renderMoment(window.windowStart),
    resetsAt: renderMoment(window.windowEnd),
    createdAt: row.created_at.toISOString(),
  };
}

/**
 * Returns the audit entry of a change: the fields of the budget, without what is spent and held. Null when nothing has changed. A changed limit
 * says what the budget is of, because a later reader may find the budget removed.
 */
export function describeChange(before: StoredBudget | undefined, after: StoredBudget | undefined) {
  const { id, account_id: accountId } = (after ?? before) as StoredBudget;
  const action = !before ? 'budget.create' : after ? 'budget.update' : 'budget.remove';
  const change = { action, accountId, target: `budget/${id}`, reason: null };
  if (!before || !after) return { ...change, before: before ? listAudited(before) : null, after: after ? listAudited(after) : null };
  const absent = { setBy: undefined, operatorLimitPicoUsd: undefined, operatorLimitTokens: undefined };
  const changed = changedFields({ ...absent, ...listAudited(before) }, listAudited(after));
  if (!changed) return null;
  const audited = listAudited(after);
  const place = Object.fromEntries(BUDGET_PLACE.filter((field) => audited[field] !== undefined).map((field) => [field, audited[field]]));
  return { ...change, before: { ...place, ...changed.before }, after: { ...place, ...changed.after } };
}

/** Returns what the journal keeps of a budget. */
function listAudited(row: StoredBudget): Record<string, unknown> {
  const { unit, limit, spent, held, passed, windowStart, windowEnd, ...fields } = budgetState(row);
  return { ...fields, ...inUnit(unit, { limit }), ...operatorFields(row) };
}

function operatorFields({ unit, set_by: setBy, operator_limit: operatorLimit }: StoredBudget) {
  return {
    ...(setBy === 'customer' && { setBy }),
    ...(operatorLimit !== null && inUnit(unit, { operatorLimit })),
  };
}
