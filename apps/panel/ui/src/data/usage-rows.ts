import type { UsageRow } from '../../../src/shapes/billing.js';
import { count, exactUsd, roundedUsd, shortCount } from '../format/numbers.js';
import type { Group, Measure } from './filters.js';

/** The value of a row that a group is by. An upstream of null: the request reached none. */
export function readGroupId(row: UsageRow, group: Group): string {
  const id = { project: row.projectId, key: row.keyId, model: row.model, upstream: row.upstream ?? 'none', ending: row.ending }[group];
  return id ?? '';
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
