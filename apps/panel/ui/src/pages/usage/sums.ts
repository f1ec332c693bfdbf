import type { UsageRow } from '../../../../src/shapes/billing.js';
import type { Group } from '../../data/filters.js';
import { readGroupId } from '../../data/usage-rows.js';

export interface GroupSum {
  id: string;
  /** The agent that started the agent of this group. Absent: none is known, or the groups are no agents. */
  parentAgent?: string;
  requests: number;
  promptTokens: number;
  cachedTokens: number;
  /** Written to caches, for any time. */
  writtenTokens: number;
  outputTokens: number;
  /** Units of items of services. */
  units: number;
  cost: bigint;
}

/** Adds the rows of each group over time, the most expensive first. */
export function sumRows(rows: UsageRow[], group: Group): GroupSum[] {
  const sums = new Map<string, GroupSum>();
  for (const row of rows) {
    const id = readGroupId(row, group);
    const writtenTokens = (row.cacheWriteTokens ?? 0) + (row.cacheWrite1hTokens ?? 0);
    sums.set(
      id,
      add(sums.get(id) ?? { ...emptySum(id), ...(group === 'agent' && row.parentAgent && { parentAgent: row.parentAgent }) }, {
        ...row,
        writtenTokens,
        units: row.quantity ?? 0,
        cost: BigInt(row.costPicoUsd),
      }),
    );
  }
  return [...sums.values()].sort((a, b) => (a.cost === b.cost ? b.requests - a.requests : a.cost > b.cost ? -1 : 1));
}

export function sumTotal(sums: GroupSum[]): GroupSum {
  return sums.reduce(add, emptySum(''));
}

function emptySum(id: string): GroupSum {
  return { id, requests: 0, promptTokens: 0, cachedTokens: 0, writtenTokens: 0, outputTokens: 0, units: 0, cost: 0n };
}

function add(sum: GroupSum, more: Omit<GroupSum, 'id' | 'parentAgent'>): GroupSum {
  return {
    id: sum.id,
    ...(sum.parentAgent !== undefined && { parentAgent: sum.parentAgent }),
    requests: sum.requests + more.requests,
    promptTokens: sum.promptTokens + more.promptTokens,
    cachedTokens: sum.cachedTokens + more.cachedTokens,
    writtenTokens: sum.writtenTokens + more.writtenTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    units: sum.units + more.units,
    cost: sum.cost + more.cost,
  };
}
