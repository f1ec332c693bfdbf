import type { LedgerCheckReply, LedgerCounts, LedgerInvariant, LedgerViolation } from '#contracts/billing/ledger.js';
import type { PgConnection } from '#database/pg-connection.js';
import { readMonths } from '../journal/closed-months.js';
import { readDetached } from '../journal/detached-months.js';
import { MONTHS_RULE, monthFaults } from '../journal/month-faults.js';
import { queryOn } from '../journal/month-files.js';
import { RECEIPTS_RULE, receiptFaults } from '../journal/receipt-faults.js';
import { inTransaction } from '../sql/transaction.js';
import { moveCheckpoint, readCheckpoint } from './checkpoint.js';
import { INVARIANTS, type Invariant, selectCounts } from './invariants.js';
import { makeFullScope, type Scope, scopeAfter, scopeFrom } from './scope.js';

/** A bug breaks a rule in many rows at once: the first rows and a count are enough. */
const SHOWN_MAX = 100;

export interface CheckOptions {
  /** True: reads closed months again, and starts from the sums of detached ones. */
  full?: boolean;
  /** True: starts from the checkpoint, if there is one, and moves it when all invariants hold. */
  scheduled?: boolean;
  /** Ends the check after the current statement. */
  signal?: AbortSignal;
}

/**
 * Checks the invariants on the rows after the last closed month and the sums of that month, in one snapshot and without locks, while traffic
 * runs; then the closed months. A hold may be open for `overdueMs` after its lease. The connection serves nothing else meanwhile.
 */
export async function checkLedger(
  connection: PgConnection,
  overdueMs: number,
  { full = false, scheduled = false, signal }: CheckOptions = {},
): Promise<LedgerCheckReply> {
  const start = performance.now();
  const { months, at, auditDigest, checked, found } = await inTransaction(
    connection,
    async () => {
      const query = queryOn(connection);
      const [months, detached] = [await readMonths(query), await readDetached(query)];
      const month = months.at(-1)?.id ?? '';
      const whole = (full ? undefined : scopeAfter(months)) ?? makeFullScope(detached);
      const checkpoint = scheduled ? await readCheckpoint(query, month) : undefined;
      let read = await readScope(connection, checkpoint ? scopeFrom(checkpoint, whole) : whole, overdueMs, signal);
      // The sums may be of rows that an operator has corrected since: the rows decide.
      if (read.found.some(({ ofCheckpoint, first }) => ofCheckpoint && first.length > 0))
        read = await readScope(connection, whole, overdueMs, signal);
      if (scheduled && read.found.every(({ first }) => first.length === 0)) await moveCheckpoint(connection, { ...read, month });
      return { months, ...read };
    },
    `BEGIN ISOLATION LEVEL REPEATABLE READ ${scheduled ? 'READ WRITE' : 'READ ONLY'}`,
  );
  // Closed months never change, so they need no snapshot, which a migration would wait for.
  const faults = await monthFaults(queryOn(connection), { full, signal });
  const withoutReceipts = await receiptFaults(queryOn(connection), { full, signal });
  const list = ({ id: invariant }: { id: string }, subjects: readonly string[]): LedgerViolation[] =>
    subjects.slice(0, SHOWN_MAX).map((subject) => ({ invariant, subject, accountId: null }));
  return {
    checkedAt: at.toISOString(),
    milliseconds: Math.round(performance.now() - start),
    full,
    checked,
    auditDigest,
    monthDigest: months.at(-1)?.digest ?? '',
    invariants: [
      ...found.map(({ invariant }) => invariant),
      { ...MONTHS_RULE, violations: faults.length },
      { ...RECEIPTS_RULE, violations: withoutReceipts.length },
    ],
    violations: [...found.flatMap(({ first }) => first), ...list(MONTHS_RULE, faults), ...list(RECEIPTS_RULE, withoutReceipts)],
  };
}

interface Read {
  scope: Scope;
  at: Date;
  transactionEnd: string;
  auditDigest: string;
  checked: LedgerCounts;
  found: Found[];
}

async function readScope(connection: PgConnection, scope: Scope, overdueMs: number, signal: AbortSignal | undefined): Promise<Read> {
  const { at, transactionEnd, auditDigest, ...checked } = await count(connection, scope);
  const found: Found[] = [];
  for (const invariant of INVARIANTS) {
    if (scope.checkpoint && invariant.needsWholeMonth) continue;
    signal?.throwIfAborted();
    found.push(await findViolations(connection, invariant, scope, overdueMs));
  }
  return { scope, at, transactionEnd, auditDigest, checked, found };
}

type Snapshot = LedgerCounts & { at: Date; transactionEnd: string; auditDigest: string };

/** Counts the rows of the snapshot. */
async function count(connection: PgConnection, scope: Scope): Promise<Snapshot> {
  const { rows } = await connection.query<Snapshot>(selectCounts(scope));
  if (!rows[0]) throw new TypeError('counting the ledger returned no row');
  const { settlements, lateSettlements } = rows[0];
  return {
    ...rows[0],
    settlements: settlements + scope.unread.settlements,
    lateSettlements: lateSettlements + scope.unread.lateSettlements,
  };
}

interface Found {
  invariant: LedgerInvariant;
  first: LedgerViolation[];
  /** True when it starts from sums of the checkpoint. */
  ofCheckpoint: boolean;
}

async function findViolations(connection: PgConnection, { id, rule, sql }: Invariant, scope: Scope, overdueMs: number): Promise<Found> {
  const query = sql(scope);
  const { rows } = await connection.query<{ subject: string; account_id: string | null; total: number }>(
    `SELECT subject::text, account_id::text, count(*) OVER ()::int AS total FROM (${query}) v ORDER BY subject LIMIT ${SHOWN_MAX}`,
    query.includes('$1') ? [overdueMs] : [],
  );
  const first = rows.map(({ subject, account_id: accountId }) => ({ invariant: id, subject, accountId }));
  return { invariant: { id, rule, violations: rows[0]?.total ?? 0 }, first, ofCheckpoint: query.includes('billing.checkpoint_') };
}
