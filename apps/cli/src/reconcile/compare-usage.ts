import type { UsageRow } from '#contracts/billing/usage.js';
import { COUNTS, type Count, type VendorUsage } from './read-usage-file.js';

/** A count of a day and model that differs. */
export interface UsageDifference {
  /** Null: all days. */
  day: string | null;
  /** Names of the model at the upstream. */
  model: string;
  count: Count;
  journal: number;
  vendor: number;
  /** Difference in percent of what the journal has. Null: it has none. */
  percent: number | null;
}

export interface UsageComparison {
  differences: UsageDifference[];
  /** The sum of all days for each model and count, whether or not it differs. */
  totals: UsageDifference[];
  /** Requests of the journal whose usage the upstream did not report in full. */
  estimatedRequests: number;
}

/**
 * Names of a model at an upstream by its id here. Where a model has several names there, or several have one, the journal cannot tell them
 * apart: they have one name together.
 */
export function nameModels(routes: readonly { id: string; name: string }[]): { ofModel: Map<string, string>; ofName: Map<string, string> } {
  const groups: { ids: Set<string>; names: Set<string> }[] = [];
  for (const { id, name } of routes) {
    const [touched, others] = [
      groups.filter(({ ids, names }) => ids.has(id) || names.has(name)),
      groups.filter(({ ids, names }) => !ids.has(id) && !names.has(name)),
    ];
    const merged = {
      ids: new Set([id, ...touched.flatMap(({ ids }) => [...ids])]),
      names: new Set([name, ...touched.flatMap(({ names }) => [...names])]),
    };
    groups.splice(0, groups.length, ...others, merged);
  }
  const label = ({ names }: { names: Set<string> }): string => [...names].sort().join(' + ');
  return {
    ofModel: new Map(groups.flatMap((group) => [...group.ids].map((id) => [id, label(group)] as const))),
    ofName: new Map(groups.flatMap((group) => [...group.names].map((name) => [name, label(group)] as const))),
  };
}

/** Compares the counts that the vendor has. Those that differ by more than `tolerancePercent` are differences. */
export function compareUsage(
  journal: readonly UsageRow[],
  vendor: readonly VendorUsage[],
  { ofModel, ofName }: ReturnType<typeof nameModels>,
  tolerancePercent: number,
): UsageComparison {
  const counted = new Set(vendor.flatMap(({ counts }) => Object.keys(counts)));
  const sums = new Map<string, UsageDifference>();
  const add = (day: string | null, model: string, count: Count, side: 'journal' | 'vendor', number: number): void => {
    const key = JSON.stringify([day, model, count]);
    const sum = sums.get(key) ?? { day, model, count, journal: 0, vendor: 0, percent: null };
    sums.set(key, { ...sum, [side]: sum[side] + number });
  };
  for (const count of COUNTS.filter((name) => counted.has(name))) {
    for (const row of journal) {
      for (const day of [(row.start ?? '').slice(0, 10), null])
        add(day, ofModel.get(row.model ?? '') ?? String(row.model), count, 'journal', READ[count](row));
    }
    for (const { day, model, counts } of vendor) {
      for (const at of [day, null]) add(at, ofName.get(model) ?? model, count, 'vendor', counts[count] ?? 0);
    }
  }
  const all = [...sums.values()].map((sum) => ({
    ...sum,
    percent: sum.journal === 0 ? null : ((sum.vendor - sum.journal) / sum.journal) * 100,
  }));
  const differs = ({ vendor, percent }: UsageDifference): boolean =>
    percent === null ? vendor !== 0 : Math.abs(percent) > tolerancePercent;
  return {
    differences: all.filter((one) => one.day !== null && differs(one)).sort(byDayAndModel),
    totals: all.filter(({ day }) => day === null).sort(byDayAndModel),
    estimatedRequests: journal.reduce((sum, row) => sum + row.estimatedRequests, 0),
  };
}

const READ: Record<Count, (row: UsageRow) => number> = {
  requests: ({ requests }) => requests,
  prompt: ({ promptTokens }) => promptTokens,
  cached: ({ cachedTokens }) => cachedTokens,
  written: ({ cacheWriteTokens = 0, cacheWrite1hTokens = 0 }) => cacheWriteTokens + cacheWrite1hTokens,
  output: ({ outputTokens }) => outputTokens,
};

function byDayAndModel(one: UsageDifference, other: UsageDifference): number {
  const key = ({ day, model, count }: UsageDifference): string => `${day} ${model} ${COUNTS.indexOf(count)}`;
  return key(one) < key(other) ? -1 : 1;
}
