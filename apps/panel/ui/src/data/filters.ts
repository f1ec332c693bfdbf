import { useEffect, useMemo, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { readUsd } from '../format/numbers.js';

/** Filters of a page, as its address has them. */
export interface Filters {
  /** Range that ends now. Absent when `from` is set. */
  range?: RangeName;
  /** Start and end in UTC, the end excluded. An absent `to` means now. */
  from?: string;
  to?: string;
  project?: string;
  key?: string;
  model?: string;
  upstream?: string;
  ending?: string;
  /** HTTP status and code that the client got. */
  status?: string;
  code?: string;
  /** End user, and a tag such as `team=search`. */
  user?: string;
  tag?: string;
  /** Least and most cost in dollars, as a person types it. */
  costMin?: string;
  costMax?: string;
  /** Least and most seconds. */
  tookMin?: string;
  tookMax?: string;
  group?: Group;
  measure?: Measure;
  /** Name of the tag to group by. */
  tagName?: string;
  /** Part of a name. */
  search?: string;
  /** The person or program that made a key. */
  creator?: string;
  /** Keys of one kind. */
  only?: KeyKind;
  /** One budget. */
  budget?: string;
  /** Column of a table, with `-` before it for the largest first. */
  sort?: string;
  /** Column of the models that are compared, as `sort`. */
  sortModels?: string;
  /** Person or program of the journal: `user/<id>`. */
  actor?: string;
  /** Recorded change: `budget.create`. */
  action?: string;
  /** Changed row: `key/<id>`. */
  target?: string;
}

export const RANGES = { '1h': '1 h', '24h': '24 h', '7d': '7 d', '30d': '30 d', month: 'Month' } as const;
export type RangeName = keyof typeof RANGES;
export const GROUPS = {
  ...({ account: 'Account', model: 'Model', project: 'Project', key: 'Key', upstream: 'Upstream', ending: 'Ending' } as const),
  ...({ user: 'User', tag: 'Tag', client: 'Client', session: 'Session', agent: 'Agent', child: 'Child key' } as const),
};
export type Group = keyof typeof GROUPS;
export const MEASURES = { cost: 'Cost', requests: 'Requests', tokens: 'Tokens' } as const;
export type Measure = keyof typeof MEASURES;

export const KEY_KINDS = { unused: 'Never used', idle: 'Unused for 30 days', endless: 'Without an end', limited: 'With limits' } as const;
export type KeyKind = keyof typeof KEY_KINDS;

const CHOICES: Partial<Record<keyof Filters, object>> = { range: RANGES, group: GROUPS, measure: MEASURES, only: KEY_KINDS };
const NAMES: (keyof Filters)[] = [
  ...(['range', 'from', 'to', 'project', 'key', 'model', 'upstream', 'ending', 'group', 'measure'] as const),
  ...(['status', 'code', 'user', 'tag', 'costMin', 'costMax', 'tookMin', 'tookMax'] as const),
  ...(['search', 'creator', 'only', 'budget', 'sort'] as const),
  ...(['actor', 'action', 'target', 'tagName', 'sortModels'] as const),
];
/** Filters with a form of their own. */
const FORMS: Partial<Record<keyof Filters, (value: string) => boolean>> = {
  from: (value) => !Number.isNaN(Date.parse(value)),
  to: (value) => !Number.isNaN(Date.parse(value)),
  status: (value) => /^[1-5]\d\d$/.test(value),
  costMin: (value) => readUsd(value).amount !== undefined,
  costMax: (value) => readUsd(value).amount !== undefined,
  tookMin: (value) => readSeconds(value).ms !== undefined,
  tookMax: (value) => readSeconds(value).ms !== undefined,
};
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LENGTHS: Record<Exclude<RangeName, 'month'>, number> = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS };
/** Longest range that charts draw in hours; longer ones are drawn in days. */
const HOURS_UP_TO_MS = 3 * DAY_MS;

/** Reads the filters from the query of an address. Unknown names and unreadable values are left out, so that old links still open. */
export function readFilters(search: string): Filters {
  const query = new URLSearchParams(search);
  const filters: Record<string, string> = {};
  for (const name of NAMES) {
    const value = query.get(name);
    if (!value) continue;
    const choices = CHOICES[name];
    if (choices && !Object.hasOwn(choices, value)) continue;
    if (FORMS[name]?.(value) === false) continue;
    filters[name] = value;
  }
  if (filters.from) delete filters.range;
  else delete filters.to;
  return filters;
}

/** Returns the rows in the order of a column, which `-` before its name turns round. `columns` has the values; an unknown name keeps the order. */
export function sortRows<Row>(
  rows: readonly Row[],
  sort: string,
  columns: Record<string, (row: Row) => bigint | number | string | null | undefined>,
): Row[] {
  const [name, direction] = sort.startsWith('-') ? [sort.slice(1), -1] : [sort, 1];
  const read = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (!read) return [...rows];
  return rows.toSorted((one, other) => {
    const [left, right] = [read(one) ?? null, read(other) ?? null];
    // What is not known is last either way.
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return direction * (left < right ? -1 : left > right ? 1 : 0);
  });
}

/** Returns the query of an address with its `?`; empty without filters. The same filters always give the same text. */
export function writeFilters(filters: Filters): string {
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = filters[name];
    if (value) query.set(name, value);
  }
  return query.size > 0 ? `?${query}` : '';
}

/** Returns changed filters. A new range replaces the start and the end. */
export function changeFilters(filters: Filters, change: Partial<Filters>): Filters {
  const changed = { ...filters, ...change };
  if (change.range) {
    changed.from = undefined;
    changed.to = undefined;
  }
  if (change.from) changed.range = undefined;
  return changed;
}

/** Reads seconds of a person, `2` or `0.25`, or tells how to write them. Neither for an empty text. */
export function readSeconds(text: string): { ms?: number; fault?: string } {
  const written = text.trim();
  if (written === '') return {};
  if (/^\d{1,6}(\.\d{1,3})?$/.test(written)) return { ms: Math.round(Number(written) * 1_000) };
  return { fault: 'Write seconds such as 2 or 0.25.' };
}

export interface TimeSpan {
  from: number;
  to: number;
  step: 'hour' | 'day';
  stepMs: number;
}

/**
 * Returns start and end in milliseconds, and the step of charts. `now` is rounded down to a minute, so that pages ask for the same span during
 * one. A span without an end extends two minutes beyond that, to include requests that end until the next minute asks again.
 */
export function resolveSpan({ range, from, to }: Filters, now: number, fallback: RangeName): TimeSpan {
  const minute = Math.floor(now / 60_000) * 60_000;
  const end = from && to ? Date.parse(to) : minute + 120_000;
  const start = from ? Date.parse(from) : findStart(range ?? fallback, minute);
  const step = end - start <= HOURS_UP_TO_MS ? 'hour' : 'day';
  return { from: start, to: end, step, stepMs: step === 'hour' ? HOUR_MS : DAY_MS };
}

function findStart(range: RangeName, end: number): number {
  if (range !== 'month') return end - LENGTHS[range];
  return monthStart(end);
}

/** Returns the start of a moment's month in UTC, or of one so many months away. */
export function monthStart(at: number, months = 0): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
}

/**
 * Returns the time before a span, as long as what of the span is over; for a month the same part of the month before. `name` says which.
 */
export function resolveBefore({ range, from }: Filters, span: TimeSpan, now: number, fallback: RangeName): TimeSpan & { name: string } {
  const over = Math.min(span.to, Math.floor(now / 60_000) * 60_000);
  if (!from && (range ?? fallback) === 'month') {
    const start = monthStart(span.from, -1);
    return { ...span, from: start, to: Math.min(start + over - span.from, span.from), name: 'the same part of the month before' };
  }
  const name = from ? 'as long a time before' : `the ${RANGES[range ?? fallback]} before`;
  return { ...span, from: span.from - (over - span.from), to: span.from, name };
}

const INPUT_LENGTH = '2026-11-23T13:02'.length;

/** Renders a moment for an input of date and time, which means UTC here. */
export function toTimeInput(ms: number): string {
  return new Date(ms).toISOString().slice(0, INPUT_LENGTH);
}

/** Reads the two inputs of a range of the person's own, in UTC; an empty end means now. Returns the range, or what is wrong with it. */
export function readOwnRange(
  start: string,
  end: string,
  now: number,
  daysMax = Number.POSITIVE_INFINITY,
): { from: string; to: string | undefined } | { fault: string; field: 'from' | 'to' } {
  const [from, to] = [start, end].map((text) => Date.parse(`${text}Z`)) as [number, number];
  if (Number.isNaN(from)) return { fault: 'Choose a day and a time.', field: 'from' };
  if (end !== '' && Number.isNaN(to)) return { fault: 'Choose a day and a time, or none for now.', field: 'to' };
  const last = end === '' ? now : to;
  if (last <= from)
    return { fault: end === '' ? 'The start is not over yet.' : 'The end is after the start.', field: end === '' ? 'from' : 'to' };
  if (last - from > daysMax * DAY_MS) return { fault: `Choose at most ${daysMax} days.`, field: 'from' };
  return { from: new Date(from).toISOString(), to: end === '' ? undefined : new Date(to).toISOString() };
}

/** The filters of the address; `change` writes it, and `hrefWith` is the address of another choice. */
export function useFilters() {
  const search = useSearch();
  const [path, navigate] = useLocation();
  const filters = useMemo(() => readFilters(search), [search]);
  const hrefWith = (change: Partial<Filters>) => path + writeFilters(changeFilters(filters, change));
  return { filters, hrefWith, change: (change: Partial<Filters>) => navigate(hrefWith(change), { replace: true }) };
}

/** The time that the filters choose, which moves on each minute. */
export function useSpan(filters: Filters, fallback: RangeName) {
  const now = useNow(60_000);
  return useMemo(() => resolveSpan(filters, now, fallback), [filters, now, fallback]);
}

/** The time, at each `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
