import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEntry } from '#contracts/audit.js';
import type { MonthCloseReply, MonthFile } from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { lockMonths, nextMonth, readMonths, renderMonth, toMonthEnd } from '../journal/closed-months.js';
import { accountEntries, grantEntries, STATEMENT_SUMS } from '../journal/journal-entries.js';
import { JOURNALS, type Journal, type MonthEnd, moment, monthAfter, monthStart } from '../journal/journal-rows.js';
import { computeDigest, renderManifest } from '../journal/manifest.js';
import { digestFile, JOURNAL_FILES, type MonthRows, type Query, queryOn, SUM_FILES } from '../journal/month-files.js';
import { insertMonthLine, insertTrees } from '../journal/receipt-roots.js';
import { type AccountMonth, growTrees } from '../journal/receipt-trees.js';
import { checkLedger } from '../ledger/check-ledger.js';
import { inTransaction } from '../sql/transaction.js';

/** Milliseconds after the end of a month in which it stays open: longer than any statement runs. */
const OPEN_AFTER_END_MS = 3_600_000;
/** Milliseconds that the transactions of the moment may take to end. */
const TRANSACTIONS_END_MS = 20_000;
const POLL_INTERVAL_MS = 50;
/** Invariants that are not about the rows of the journals: their violations do not keep a month open. */
const OF_OTHER_ROWS = ['I7', 'I8', 'I14', 'I16'];

export interface CloseOptions {
  author: Author;
  signal?: AbortSignal;
}

/**
 * Closes a month: digests its rows, and writes its sums, its manifest and the audit row in one transaction. Before that it only reads, so a
 * process that is killed at any step leaves nothing. Returns the month as it is when it was closed before.
 *
 * @throws {ServiceError} `conflict` when it is not the next month, is not over, or the ledger is inconsistent.
 */
export async function closeMonth(connection: PgConnection, month: string, { author, signal }: CloseOptions): Promise<MonthCloseReply> {
  const query = queryOn(connection);
  await lockMonths(query);
  const months = await readMonths(query);
  const closed = months.find(({ id }) => id === month);
  if (closed) return { ...renderMonth(closed), closed: false };
  const last = months.at(-1);
  await requireNext(query, month, (await nextMonth(query, months)) ?? month);
  await requireConsistent(connection, signal);
  const after = toMonthEnd(last);
  const to = { at: monthStart(monthAfter(month)), transactionEnd: await transactionEnd(query, monthStart(monthAfter(month)), after) };
  const rows: MonthRows = { month, start: monthStart(month), range: { after, to } };
  const files: MonthFile[] = [];
  for (const file of JOURNAL_FILES) files.push(await digestFile(query, file, rows, signal));
  const accounts = await growTrees(query, rows, signal);
  signal?.throwIfAborted();
  return seal(connection, { rows, files, accounts, before: last, author });
}

async function requireNext(query: Query, month: string, next: string): Promise<void> {
  const [now] = await query<{ isOver: boolean }>(
    `SELECT clock_timestamp() >= ${moment(monthStart(monthAfter(month)) + OPEN_AFTER_END_MS)} AS "isOver"`,
    [],
  );
  if (!now?.isOver) {
    const from = new Date(monthStart(monthAfter(month)) + OPEN_AFTER_END_MS).toISOString();
    throw new ServiceError('conflict', `The month can be closed from ${from} on.`, 'month');
  }
  if (month !== next) throw new ServiceError('conflict', `The next month to close is ${next}.`, 'month');
}

/** After the month is closed, the scheduled check no longer reads its rows. */
async function requireConsistent(connection: PgConnection, signal: AbortSignal | undefined): Promise<void> {
  const { invariants } = await checkLedger(connection, 0, { signal });
  const broken = invariants.filter(({ id, violations }) => violations > 0 && !OF_OTHER_ROWS.includes(id)).map(({ id }) => id);
  if (broken.length > 0) {
    throw new ServiceError(
      'conflict',
      `The ledger check found violations of ${broken.join(', ')}: repair them first (docs/operations.md).`,
    );
  }
}

/**
 * Returns a transaction id above those of all rows before `at`, once every transaction below it has ended: no row can be added below it.
 * Rows of a database that was dumped and restored have the ids of the cluster before, which may be above those of this one.
 */
async function transactionEnd(query: Query, at: number, after: MonthEnd | undefined): Promise<string> {
  const highest = (Object.keys(JOURNALS) as Journal[]).map((journal) => {
    const from = after ? ` AND (${JOURNALS[journal]} >= ${moment(after.at)} OR transaction_id >= ${after.transactionEnd})` : '';
    return `(SELECT max(transaction_id) + 1 FROM billing.${journal} WHERE ${JOURNALS[journal]} < ${moment(at)}${from})`;
  });
  const [found] = await query<{ next: string; end: string }>(
    `SELECT next::text, greatest(next, ${highest.join(', ')})::text AS end FROM (SELECT pg_current_xact_id()::text::bigint AS next) s`,
    [],
  );
  if (!found) throw new TypeError('the statement has no transaction id');
  const deadline = performance.now() + TRANSACTIONS_END_MS;
  const haveEnded = async (): Promise<boolean> =>
    (await query('SELECT WHERE pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= $1::bigint', [found.next])).length > 0;
  while (!(await haveEnded())) {
    if (performance.now() > deadline) throw new ServiceError('conflict', 'An old transaction still runs: try again when it has ended.');
    await delay(POLL_INTERVAL_MS);
  }
  return found.end;
}

interface Sealing {
  rows: MonthRows;
  files: MonthFile[];
  accounts: AccountMonth[];
  before: { id: string; digest: string } | undefined;
  author: Author;
}

async function seal(connection: PgConnection, { rows, files, accounts, before, author }: Sealing): Promise<MonthCloseReply> {
  const query = queryOn(connection);
  const { month, range } = rows;
  const { audit, sealed } = await inTransaction(connection, async () => {
    await query(addStatements(rows), [month, before?.id ?? '']);
    await query(addGrants(rows), [month, before?.id ?? '']);
    await insertTrees(query, month, accounts);
    for (const file of SUM_FILES) files.push(await digestFile(query, file, rows));
    const manifest = { month, before: before?.digest ?? '', transactionEnd: range.to.transactionEnd, files };
    const text = renderManifest(manifest);
    const digest = computeDigest(text);
    const [row] = await query<{ closedAt: Date }>(
      'INSERT INTO billing.month (id, manifest) VALUES ($1, $2) RETURNING closed_at AS "closedAt"',
      [month, text],
    );
    await insertMonthLine(query, month, digest);
    const [{ audit } = { audit: undefined }] = await query<{ audit: AuditEntry }>(
      `SELECT billing.record_audit($1::jsonb, 'month.close', NULL, 'month/' || $2::text, NULL, NULL, $3::jsonb) AS audit`,
      [author.caller, month, { digest }],
    );
    return { audit, sealed: renderMonth({ id: month, text, digest, closedAt: row?.closedAt as Date, manifest }) };
  });
  if (audit) logAudit(author, audit);
  return { ...sealed, closed: true };
}

/** $1 is the month, $2 the one before. */
function addStatements({ range }: MonthRows): string {
  const sums = STATEMENT_SUMS.map((column) => `sum(${column})`).join(', ');
  const nothing = STATEMENT_SUMS.map((column) => (column === 'requests' ? '0::bigint' : '0::numeric')).join(', ');
  return `INSERT INTO billing.month_account (month, account_id, ${STATEMENT_SUMS.join(', ')}, opening, closing, topup_closing, refundable)
    SELECT $1, account_id, ${sums}, sum(opening), sum(opening + change), sum(topup_change), sum(refundable) FROM (
      SELECT account_id, ${nothing}, closing AS opening, 0::numeric AS change, topup_closing AS topup_change, refundable
      FROM billing.month_account WHERE month = $2
      UNION ALL
      SELECT account_id, ${STATEMENT_SUMS.join(', ')}, 0, change, topup_change, topups - refunds FROM ${accountEntries(range)} e
    ) entries (account_id, ${STATEMENT_SUMS.join(', ')}, opening, change, topup_change, refundable) GROUP BY account_id`;
}

/** Leaves out grants that have ended and are gone: nothing can be charged to them any more. */
function addGrants({ range }: MonthRows): string {
  return `INSERT INTO billing.month_grant (month, grant_id, account_id, amount, gone, ended)
    SELECT $1, grant_id, account_id, sum(amount), sum(gone), bool_or(ended) FROM (
      SELECT grant_id, account_id, amount, gone, ended FROM billing.month_grant WHERE month = $2
      UNION ALL
      SELECT grant_id, account_id, amount, gone, ended FROM ${grantEntries(range)} e
    ) entries GROUP BY grant_id, account_id HAVING sum(amount) <> sum(gone) OR NOT bool_or(ended) AND sum(amount) <> 0`;
}
