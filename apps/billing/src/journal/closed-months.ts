import type { ClosedMonth } from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import { type MonthEnd, monthAfter, monthStart } from './journal-rows.js';
import { computeDigest, type Manifest, parseManifest } from './manifest.js';
import type { MonthRows, Query } from './month-files.js';

export interface StoredMonth {
  id: string;
  text: string;
  digest: string;
  closedAt: Date;
  /** Undefined: the text was changed. */
  manifest: Manifest | undefined;
}

/** Reads all closed months, the first one first. */
export async function readMonths(query: Query): Promise<StoredMonth[]> {
  const rows = await query<{ id: string; text: string; closedAt: Date }>(
    'SELECT id, manifest AS text, closed_at AS "closedAt" FROM billing.month ORDER BY id',
    [],
  );
  return rows.map(({ id, text, closedAt }) => ({ id, text, digest: computeDigest(text), closedAt, manifest: parseManifest(text) }));
}

/** Advisory lock of the one replica that closes, detaches or attaches a month. */
const MONTHS_LOCK = 7_243_004;

/** Thrown while another replica has the lock. */
export class MonthsBusyError extends ServiceError {
  constructor() {
    super('conflict', 'Another month is being closed, detached or attached: try again in a minute.');
  }
}

/** Takes the lock of the session, which ends with the connection. */
export async function lockMonths(query: Query): Promise<void> {
  const [lock] = await query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [MONTHS_LOCK]);
  if (!lock?.locked) throw new MonthsBusyError();
}

/** Returns the month after the last closed one, at first that of the first movement; undefined while there is none. */
export async function nextMonth(query: Query, months: readonly StoredMonth[]): Promise<string | undefined> {
  const last = months.at(-1);
  if (last) return monthAfter(last.id);
  const [first] = await query<{ month: string | null }>(
    `SELECT to_char(least((SELECT min(created_at) FROM billing.movement), (SELECT min(hour) FROM billing.usage_hour)) AT TIME ZONE 'UTC',
       'YYYY-MM') AS month`,
    [],
  );
  return first?.month ?? undefined;
}

/** Returns the end of a month; undefined without one. */
export function toMonthEnd(month: StoredMonth | undefined): MonthEnd | undefined {
  return month?.manifest && { at: monthStart(monthAfter(month.id)), transactionEnd: month.manifest.transactionEnd };
}

/** Returns the journal rows of one of `months`, which are in order. Undefined when its text, or that of the month before, was changed. */
export function findMonthRows(months: readonly StoredMonth[], position: number): MonthRows | undefined {
  const [before, month] = [months[position - 1], months[position]];
  const [after, to] = [toMonthEnd(before), toMonthEnd(month)];
  if (!month || !to || (before && !after)) return undefined;
  return { month: month.id, start: monthStart(month.id), range: { after, to } };
}

export function renderMonth({ id, text, digest, closedAt, manifest }: StoredMonth): ClosedMonth {
  return { month: id, digest, manifest: text, files: manifest?.files ?? [], closedAt: closedAt.toISOString() };
}
