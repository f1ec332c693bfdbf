import type { AuditEntry } from '#contracts/audit.js';
import type { MonthAttachReply, MonthDetachReply } from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { findMonthRows, lockMonths, readMonths, type StoredMonth, toMonthEnd } from '../journal/closed-months.js';
import {
  digestNow,
  type Remainders,
  readDetached,
  renderDetached,
  type StoredDetachedMonth,
  SUMS_DIGEST,
} from '../journal/detached-months.js';
import { accountEntries, grantEntries } from '../journal/journal-entries.js';
import { type MonthRange, monthAfter, selectRows } from '../journal/journal-rows.js';
import { digestFile, type Query, queryOn } from '../journal/month-files.js';
import { inTransaction } from '../sql/transaction.js';

export interface DetachOptions {
  author: Author;
  signal?: AbortSignal;
}

/** Files of closed months that a detached month has rows of. */
const DETACHED_FILES = [
  'settlements',
  'late-settlements',
  'unit-prices',
  'cache-writes',
  'late-cache-writes',
  'price-rules',
  'late-price-rules',
  'item-quantities',
  'late-item-quantities',
] as const;

/**
 * Detaches the oldest month: takes its partitions out of the journals, and keeps their sums and digests. All is one transaction, which reads
 * first and locks the journals for a moment at its end. Returns a month that is detached already as it is.
 *
 * A row that is added meanwhile has a transaction id from `since` on, because no transaction below runs any more.
 * @throws {ServiceError} `conflict` when it is not the oldest month, or one of its rows or of its holds is of a month that is not closed.
 */
export async function detachMonth(connection: PgConnection, month: string, { author, signal }: DetachOptions): Promise<MonthDetachReply> {
  const query = queryOn(connection);
  await lockMonths(query);
  const detached = await readDetached(query);
  const same = detached.find(({ id }) => id === month);
  if (same) return { ...renderDetached(same), detached: false };
  const months = await readMonths(query);
  await requireOldest(query, month, months);
  return recorded(connection, async () => {
    const ids = await readIds(query, month, detached.length === 0);
    const added = await rowsAdded(query, ids.below);
    const rests = await digestRemainders(query, { months, detached, idsBelow: ids.below, signal });
    const row = { id: month, ids_from: ids.from, ids_below: ids.below, ...(await sumUp(query, month, ids.below)), rests };
    signal?.throwIfAborted();
    const audit = await record(query, author, { action: 'month.detach', month, after: row });
    await query('SELECT billing.detach_month($1::jsonb, $2::bigint, $3::bigint)', [row, added.since, added.count]);
    const [stored] = (await readDetached(query)).slice(-1);
    return { audit, author, result: { ...renderDetached(stored as StoredDetachedMonth), detached: true } };
  });
}

/**
 * Attaches the month that was detached last, after its rows were compared with their digest. Then everything is as it was.
 * @throws {ServiceError} `conflict` when it is not the last one, its tables are missing, or a row was changed.
 */
export function attachMonth(connection: PgConnection, month: string, { author }: DetachOptions): Promise<MonthAttachReply> {
  const query = queryOn(connection);
  return recorded(connection, async () => {
    await lockMonths(query);
    const attached = (await readDetached(query)).find(({ id }) => id === month);
    if (!attached) throw new ServiceError('conflict', 'The month is not detached.', 'month');
    await query('SELECT billing.verify_month($1)', [month]);
    const audit = await record(query, author, { action: 'month.attach', month, after: null });
    await query('SELECT billing.attach_month($1)', [month]);
    const { settlements, lateSettlements } = attached;
    return { audit, author, result: { month, settlements, lateSettlements } };
  });
}

async function requireOldest(query: Query, month: string, months: readonly StoredMonth[]): Promise<void> {
  const [found] = await query<{ oldest: string | null }>(
    `SELECT replace(min(right(relname, 7)), '_', '-') AS oldest FROM pg_inherits JOIN pg_class ON oid = inhrelid
     WHERE inhparent = 'billing.settlement'::regclass AND relname ~ '^settlement_\\d{4}_\\d{2}$'`,
    [],
  );
  const missing = [month, monthAfter(month)].filter((needed) => !months.some(({ id }) => id === needed));
  if (missing.length > 0) throw new ServiceError('conflict', `Close ${missing.join(' and ')} first.`, 'month');
  const oldest = found?.oldest ?? 'none';
  if (month !== oldest) throw new ServiceError('conflict', `The month to detach is ${oldest}, with all before it.`, 'month');
}

async function readIds(query: Query, month: string, isFirst: boolean): Promise<{ from: string | null; below: string }> {
  const [ids] = await query<{ from: string; below: string }>(
    'SELECT billing.first_id_of($1::date) AS from, billing.first_id_of($2::date) AS below',
    [`${month}-01`, `${monthAfter(month)}-01`],
  );
  if (!ids) throw new TypeError('the month has no ids');
  return { below: ids.below, from: isFirst ? null : ids.from };
}

async function rowsAdded(query: Query, idsBelow: string): Promise<{ since: string; count: string }> {
  const [current] = await query<{ since: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS since', []);
  const since = current?.since ?? '0';
  const of = (journal: string) => `(SELECT count(*) FROM billing.${journal} WHERE hold_id < $1 AND transaction_id >= ${since})`;
  const [found] = await query<{ count: string }>(`SELECT ${of('settlement')} + ${of('late_settlement')} AS count`, [idsBelow]);
  return { since, count: found?.count ?? '0' };
}

interface Detaching {
  months: readonly StoredMonth[];
  detached: readonly StoredDetachedMonth[];
  idsBelow: string;
  signal: AbortSignal | undefined;
}

/** Digests what is left of each closed month without the rows that go, after it was found to be what was closed. */
async function digestRemainders(query: Query, { months, detached, idsBelow, signal }: Detaching): Promise<Remainders> {
  const goes = async (range: MonthRange): Promise<boolean> => {
    const some = (['settlement', 'late_settlement'] as const).map(
      (journal) => `SELECT FROM ${selectRows(journal, { ...range, idsBelow })} r`,
    );
    return (await query(`SELECT WHERE EXISTS (${some.join(') OR EXISTS (')})`, [])).length > 0;
  };
  if (await goes({ after: toMonthEnd(months.at(-1)) })) {
    throw new ServiceError('conflict', 'Requests of this month ended in a month that is not closed: close it first.', 'month');
  }
  const rests: Remainders = { ...detached.at(-1)?.rests };
  for (const [position, month] of months.entries()) {
    const rows = findMonthRows(months, position);
    if (!rows) throw new ServiceError('conflict', `The manifest of ${month.id} was changed (docs/operations.md).`, 'month');
    if (!(await goes(rows.range))) continue;
    const rest: Remainders[string] = {};
    for (const file of DETACHED_FILES) {
      const sealed = digestNow(month, file, detached);
      if (sealed === undefined) continue; // closed before the file was added
      if ((await digestFile(query, file, rows, signal)).sha256 !== sealed) {
        throw new ServiceError('conflict', `${month.id} is not what was closed: run the full ledger check.`, 'month');
      }
      const { rows: count, sha256 } = await digestFile(query, file, { ...rows, idsFrom: idsBelow }, signal);
      rest[file] = { rows: count, sha256 };
    }
    rests[month.id] = rest;
  }
  return rests;
}

/** Writes the sums of the rows below an id. Returns what a row of `billing.detached_month` says of them. */
async function sumUp(query: Query, month: string, idsBelow: string) {
  const range = { idsBelow };
  const digest = async (journal: string) => {
    const [one] = await query<{ rows: number; digest: string }>(
      `SELECT row_count::float8 AS rows, digest FROM billing.journal_digest('billing.${journal}', $1)`,
      [idsBelow],
    );
    return one as { rows: number; digest: string };
  };
  const [settlements, late] = [await digest('settlement'), await digest('late_settlement')];
  await query(
    `INSERT INTO billing.detached_account (month, account_id, change, topup_change)
     SELECT $1, account_id, sum(change), sum(topup_change) FROM ${accountEntries(range)} e GROUP BY account_id`,
    [month],
  );
  await query(
    `INSERT INTO billing.detached_grant (month, grant_id, account_id, gone)
     SELECT $1, grant_id, account_id, sum(gone) FROM ${grantEntries(range)} e GROUP BY grant_id, account_id`,
    [month],
  );
  const [sums] = await query<{ digest: string; countedTo: string }>(
    `SELECT (${SUMS_DIGEST}) AS digest, coalesce((max(settled_at) AT TIME ZONE 'UTC')::date + 1, $2::date)::text AS "countedTo" FROM (
       SELECT max(settled_at) AS settled_at FROM ${selectRows('settlement', range)} s
       UNION ALL SELECT max(settled_at) FROM ${selectRows('late_settlement', range)} l) times`,
    [month, `${monthAfter(month)}-01`],
  );
  return {
    counted_to: sums?.countedTo,
    settlements: settlements.rows,
    settlements_digest: settlements.digest,
    late_settlements: late.rows,
    late_settlements_digest: late.digest,
    sums_digest: sums?.digest,
  };
}

async function record(
  query: Query,
  { caller }: Author,
  { action, month, after }: { action: string; month: string; after: object | null },
): Promise<AuditEntry | undefined> {
  const [row] = await query<{ audit: AuditEntry }>(
    `SELECT billing.record_audit($1::jsonb, $2, NULL, 'month/' || $3::text, NULL, NULL, $4::jsonb) AS audit`,
    [caller, action, month, after],
  );
  return row?.audit;
}

/** Runs `work` in a transaction, and logs its audit row after the commit. */
async function recorded<Result>(
  connection: PgConnection,
  work: () => Promise<{ audit: AuditEntry | undefined; author: Author; result: Result }>,
): Promise<Result> {
  const { audit, author, result } = await inTransaction(connection, work).catch((error: unknown) => {
    throw toRefusal(error) ?? error;
  });
  if (audit) logAudit(author, audit);
  return result;
}

/** Returns the refusal for an error that the operator can do something about. */
function toRefusal(error: unknown): ServiceError | undefined {
  const { code, constraint, message } = error as { code?: unknown; constraint?: unknown; message?: string };
  if (code === '55P03') return new ServiceError('conflict', 'A transaction keeps the journals locked: try again when it has ended.');
  if (code === '23514' && constraint === 'hold_is_not_detached') {
    return new ServiceError('conflict', 'A hold of this month, or of one before it, is still open.', 'month');
  }
  if (code === '23514' && String(constraint).endsWith('_is_not_detached')) {
    return new ServiceError('conflict', 'Settlements of this month, or of one before it, are in the default partition.', 'month');
  }
  // Raised by the functions of the database, and by ATTACH for a table of another form.
  if (code === 'P0004' || code === '42804') return new ServiceError('conflict', String(message).replace(/^billing: /, ''), 'month');
  return undefined;
}
