import type { UsageRow } from '../../../../src/shapes/billing.js';
import { monthStart } from '../../data/filters.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Days that the forecast goes by: a week, so that each day of it counts once. */
const DAYS = 7;

export interface Forecast {
  /** Spent in the month until now. */
  spent: bigint;
  perDay: bigint;
  /** Full days that `perDay` is the average of. 0: only today, a part of a day, is known. */
  days: number;
  /** Spent at the end of the month. */
  total: bigint;
}

/** Start of the days that a forecast needs. */
export function forecastFrom(now: number): number {
  return Math.min(monthStart(now), dayStart(now) - DAYS * DAY_MS);
}

/**
 * Returns what the month will have cost if the rest of it costs as much a day as the last seven full days did on average, or those since the
 * first request. `rows`: usage by day since `forecastFrom`. Null: the first request is less than an hour old, or there is none.
 */
export function forecastMonth(rows: readonly UsageRow[], now: number): Forecast | null {
  const costs = rows.map(({ start = '', costPicoUsd }) => ({ at: Date.parse(start), cost: BigInt(costPicoUsd) }));
  const sumFrom = (from: number, to = now): bigint =>
    costs.filter(({ at }) => at >= from && at < to).reduce((sum, { cost }) => sum + cost, 0n);
  const [today, first] = [dayStart(now), costs[0]?.at];
  if (first === undefined) return null;
  const spent = sumFrom(monthStart(now));
  const from = Math.max(first, today - DAYS * DAY_MS);
  const days = Math.max(0, (today - from) / DAY_MS);
  const elapsed = now - today;
  if (days === 0 && elapsed < HOUR_MS) return null;
  const perDay = days > 0 ? sumFrom(from, today) / BigInt(days) : (sumFrom(today) * BigInt(DAY_MS)) / BigInt(elapsed);
  const left = monthStart(now, 1) - now;
  return { spent, perDay, days, total: spent + (perDay * BigInt(left)) / BigInt(DAY_MS) };
}

function dayStart(at: number): number {
  return at - (at % DAY_MS);
}
