/** Filters of a page, as its address has them. */
export interface Filters {
  /** A range that moves with the clock. Absent with `from`. */
  range?: RangeName;
  /** Start and end in UTC, the end excluded. `to` absent: now. */
  from?: string;
  to?: string;
  project?: string;
  key?: string;
  model?: string;
  upstream?: string;
  ending?: string;
  group?: Group;
  measure?: Measure;
}

export const RANGES = { '1h': '1 h', '24h': '24 h', '7d': '7 d', '30d': '30 d', month: 'Month' } as const;
export type RangeName = keyof typeof RANGES;
export const GROUPS = { model: 'Model', project: 'Project', key: 'Key', upstream: 'Upstream', ending: 'Ending' } as const;
export type Group = keyof typeof GROUPS;
export const MEASURES = { cost: 'Cost', requests: 'Requests', tokens: 'Tokens' } as const;
export type Measure = keyof typeof MEASURES;

const CHOICES: Partial<Record<keyof Filters, object>> = { range: RANGES, group: GROUPS, measure: MEASURES };
const NAMES: (keyof Filters)[] = ['range', 'from', 'to', 'project', 'key', 'model', 'upstream', 'ending', 'group', 'measure'];
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LENGTHS: Record<Exclude<RangeName, 'month'>, number> = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS };
/** Longest range that is drawn by hours. */
const HOURS_UP_TO_MS = 3 * DAY_MS;

/** Reads the query of an address. What it does not know or cannot read is left out, so that an old link still opens. */
export function readFilters(search: string): Filters {
  const query = new URLSearchParams(search);
  const filters: Record<string, string> = {};
  for (const name of NAMES) {
    const value = query.get(name);
    if (!value) continue;
    const choices = CHOICES[name];
    if (choices && !Object.hasOwn(choices, value)) continue;
    if ((name === 'from' || name === 'to') && Number.isNaN(Date.parse(value))) continue;
    filters[name] = value;
  }
  if (filters.from) delete filters.range;
  else delete filters.to;
  return filters;
}

/** The query of an address, `?` included, or nothing. The same filters always give the same text. */
export function writeFilters(filters: Filters): string {
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = filters[name];
    if (value) query.set(name, value);
  }
  return query.size > 0 ? `?${query}` : '';
}

/** Returns `filters` with a change. A new range replaces a start and an end. */
export function changeFilters(filters: Filters, change: Partial<Filters>): Filters {
  const changed = { ...filters, ...change };
  if (change.range) {
    changed.from = undefined;
    changed.to = undefined;
  }
  if (change.from) changed.range = undefined;
  return changed;
}

export interface TimeSpan {
  from: number;
  to: number;
  step: 'hour' | 'day';
  stepMs: number;
}

/**
 * Start and end in milliseconds and the step of charts. `now` is rounded to a minute, so that an address stays the same for one. A span
 * without an end goes beyond now: it has what ends until the next minute asks again.
 */
export function spanOf({ range, from, to }: Filters, now: number, fallback: RangeName): TimeSpan {
  const minute = Math.floor(now / 60_000) * 60_000;
  const end = from && to ? Date.parse(to) : minute + 120_000;
  const start = from ? Date.parse(from) : startOf(range ?? fallback, minute);
  const step = end - start <= HOURS_UP_TO_MS ? 'hour' : 'day';
  return { from: start, to: end, step, stepMs: step === 'hour' ? HOUR_MS : DAY_MS };
}

function startOf(range: RangeName, end: number): number {
  if (range !== 'month') return end - LENGTHS[range];
  const now = new Date(end);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
}
