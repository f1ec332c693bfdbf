import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '#contracts/service-error.js';
import type { Level } from '../limits/operator-limits.js';

/** A budget as it is stored. Amounts are texts in its unit. */
interface StoredBudget {
  set_by: Level;
  limit: string;
  /** The operator's limit, where the customer has lowered it. Null: `limit`. */
  operator_limit: string | null;
  time_zone: string;
  start_day: number;
  thresholds: readonly number[];
}

/** Settings that replace those of a budget. */
interface NewSettings {
  level: Level;
  limit: string;
  timeZone: string;
  startDay: number;
  thresholds: readonly number[];
}

/**
 * Demands that a customer changes nothing of a budget of the operator but its limit, and this to at most the operator's.
 * @throws {ServiceError} `permission_denied`.
 */
export function requireSettable(row: StoredBudget | undefined, settings: NewSettings): void {
  if (row?.set_by !== 'operator' || settings.level === 'operator') return;
  if (BigInt(settings.limit) > BigInt(row.operator_limit ?? row.limit)) {
    throw refusal('A customer may not raise it above the limit of the operator.', 'period');
  }
  const param = row.time_zone !== settings.timeZone ? 'timeZone' : row.start_day !== settings.startDay ? 'startDay' : undefined;
  const changed = param ?? (isDeepStrictEqual([...row.thresholds], [...settings.thresholds]) ? undefined : 'thresholds');
  if (changed) throw refusal('A customer may only change its limit.', changed);
}

/** @throws {ServiceError} `permission_denied` for a customer and a budget of the operator. */
export function requireRemovable(row: StoredBudget, level: Level): void {
  if (row.set_by === 'operator' && level === 'customer') throw refusal('A customer may not remove it.', 'budgetId');
}

/** Returns who a budget is of when its limit is changed, and the operator's limit where the customer's is lower. */
export function operatorLimitAfter(
  row: StoredBudget,
  { level, limit }: Pick<NewSettings, 'level' | 'limit'>,
): { setBy: Level; operatorLimit: string | null } {
  if (level === 'operator') return { setBy: 'operator', operatorLimit: null };
  const most = row.operator_limit ?? row.limit;
  return { setBy: row.set_by, operatorLimit: row.set_by === 'customer' || most === limit ? null : most };
}

function refusal(rule: string, param: string): ServiceError {
  return new ServiceError('permission_denied', `The operator has set this budget. ${rule}`, param);
}
