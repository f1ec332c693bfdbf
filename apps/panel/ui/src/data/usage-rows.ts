import type { UsageRow } from '../../../src/shapes/billing.js';
import { count, exactUsd, roundedUsd, shortCount } from '../format/numbers.js';
import type { Group, Measure } from './filters.js';

/** Stands for no value: the request reached no upstream, named no user, tag, client, session or agent, or came from the key itself. */
export const NO_VALUE = 'none';

/** The value of a row that a group is by. */
export function readGroupId(row: UsageRow, group: Group): string {
  return row[findField(group)] ?? NO_VALUE;
}

/** True for a row of usage by the group. */
export function hasGroup(row: UsageRow, group: Group): boolean {
  return row[findField(group)] !== undefined;
}

function findField(group: Group) {
  return group === 'account' || group === 'project' || group === 'key' ? (`${group}Id` as const) : group;
}

/** `+12 %`, `−8 %`, `× 12` from tenfold on. Null: nothing was before. */
export function describeChange(now: bigint, before: bigint): string | null {
  if (before <= 0n) return null;
  const ratio = Number((now * 10_000n) / before) / 10_000;
  if (ratio >= 10) return `× ${count(Math.round(ratio))}`;
  const change = Math.round((ratio - 1) * 100);
  return `${change > 0 ? '+' : change < 0 ? '−' : ''}${Math.abs(change)} %`;
}

export function readMeasure(row: UsageRow, measure: Measure): bigint {
  if (measure === 'cost') return BigInt(row.costPicoUsd);
  return BigInt(measure === 'requests' ? row.requests : row.promptTokens + row.outputTokens);
}

export function formatMeasure(value: bigint, measure: Measure): string {
  return measure === 'cost' ? exactUsd(value) : shortCount(Number(value));
}

/** The values of an axis, which are round, with the same number of decimals. */
export function formatTicks(values: bigint[], measure: Measure): string[] {
  if (measure !== 'cost') return values.map((value) => shortCount(Number(value)));
  const decimals = Math.max(...values.map((value) => exactUsd(value).replace(/\.00$/, '').split('.')[1]?.length ?? 0));
  return values.map((value) => roundedUsd(value, decimals));
}

export function renderTokens({ promptTokens, outputTokens }: Pick<UsageRow, 'promptTokens' | 'outputTokens'>): string {
  return count(promptTokens + outputTokens);
}
