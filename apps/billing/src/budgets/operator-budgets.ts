import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '#contracts/service-error.js';
import type { Level } from '../limits/operator-limits.js';
import { type BudgetSettings, budgetState } from './budget.js';
import type { StoredBudget } from './stored-budget.js';

/**
 * `param` of errors that are about the budget and not about a field: its target has one a period and unit, and clients know this name.
 */
export const BUDGET_PARAM = 'period';

/** The limit and settings that a change gives to a budget. */
interface Change {
  level: Level;
  limit: string;
  settings: BudgetSettings;
}

/**
 * Demands that a customer changes nothing of a budget of the operator but its limit, and this to at most the operator's.
 * @throws {ServiceError} `permission_denied`.
 */
export function requireSettable(row: StoredBudget | undefined, { level, limit, settings }: Change): void {
  if (row?.set_by !== 'operator' || level === 'operator') return;
  if (BigInt(limit) > BigInt(row.operator_limit ?? row.limit_amount)) {
    throw refusal('A customer may not raise it above the limit of the operator.', BUDGET_PARAM);
  }
  const present = budgetState(row);
  const names = Object.keys(settings) as (keyof BudgetSettings)[];
  const changed = names.find((name) => !isDeepStrictEqual(present[name], settings[name]));
  if (changed) throw refusal('A customer may only change its limit.', changed);
}

/** @throws {ServiceError} `permission_denied` for a customer and a budget of the operator. */
export function requireRemovable(row: StoredBudget, level: Level): void {
  if (row.set_by === 'operator' && level === 'customer') throw refusal('A customer may not remove it.', 'budgetId');
}

/** Returns who a budget is of when its limit is changed, and the operator's limit where the customer's is lower. */
export function operatorLimitAfter(
  row: StoredBudget,
  { level, limit }: Pick<Change, 'level' | 'limit'>,
): { setBy: Level; operatorLimit: string | null } {
  if (level === 'operator') return { setBy: 'operator', operatorLimit: null };
  const most = row.operator_limit ?? row.limit_amount;
  return { setBy: row.set_by, operatorLimit: row.set_by === 'customer' || most === limit ? null : most };
}

function refusal(rule: string, param: string): ServiceError {
  return new ServiceError('permission_denied', `The operator has set this budget. ${rule}`, param);
}
