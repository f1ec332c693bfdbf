import type { LedgerCheckReply, LedgerCounts, LedgerInvariant, LedgerViolation } from '#contracts/billing/ledger.js';
import type { MonthFileName } from '#contracts/billing/months.js';
import type { PgConnection } from '#database/pg-connection.js';
import { endOf, readMonths, type StoredMonth } from '../months/closed-months.js';
import { readDetached, type StoredDetachedMonth } from '../months/detached-months.js';
import { MONTHS_RULE, monthFaults } from '../months/month-faults.js';
import { queryOn } from '../months/month-files.js';
import { countsOf, INVARIANTS, type Invariant, type Scope } from './invariants.js';

/** A bug breaks a rule in many rows at once: the first rows and a count are enough. */
const SHOWN_MAX = 100;

export interface CheckOptions {
  /** True: reads closed months again, and starts from the sums of detached ones. */
  full?: boolean;
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
  { full = false, signal }: CheckOptions = {},
): Promise<LedgerCheckReply> {
  const start = performance.now();
  const { months, at, auditDigest, checked, found } = await inSnapshot(connection, async () => {
    const query = queryOn(connection);
    const [months, detached] = [await readMonths(query), await readDetached(query)];
    const scope = (full ? undefined : scopeAfter(months.at(-1))) ?? scopeOfAll(detached);
    const { at, auditDigest, ...checked } = await count(connection, scope, months, detached);
    const found: Found[] = [];
    for (const invariant of INVARIANTS) {
      signal?.throwIfAborted();
      found.push(await violationsOf(connection, invariant, scope, overdueMs));
    }
    return { months, at, auditDigest, checked, found };
  });
  // Closed months never change, so they need no snapshot, which a migration would wait for.
  const faults = await monthFaults(queryOn(connection), { full, signal });
  const ofMonths = faults.slice(0, SHOWN_MAX).map((subject) => ({ invariant: MONTHS_RULE.id, subject, accountId: null }));
  return {
    checkedAt: at.toISOString(),
    milliseconds: Math.round(performance.now() - start),
    full,
    checked,
    auditDigest,
    monthDigest: months.at(-1)?.digest ?? '',
    invariants: [...found.map(({ invariant }) => invariant), { ...MONTHS_RULE, violations: faults.length }],
    violations: [...found.flatMap(({ first }) => first), ...ofMonths],
  };
}

async function inSnapshot<Result>(connection: PgConnection, work: () => Promise<Result>): Promise<Result> {
  await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    return await work();
  } finally {
    await connection.query('ROLLBACK').catch(() => undefined); // the server rolls back by itself when the connection breaks
  }
}

/** Returns the rows after a month; undefined, when its manifest was changed. */
function scopeAfter(month: StoredMonth | undefined): Scope | undefined {
  const after = endOf(month);
  return month && after ? { month: month.id, range: { after }, rollupsFrom: after.at } : undefined;
}

/** Returns all rows that are not detached. */
function scopeOfAll(detached: readonly StoredDetachedMonth[]): Scope {
  const countedTo = detached.map((month) => month.countedTo.getTime());
  return { month: '', range: {}, rollupsFrom: Math.max(Number.NEGATIVE_INFINITY, ...countedTo) };
}

type Snapshot = LedgerCounts & { at: Date; auditDigest: string };

/** Counts the rows of the snapshot; those of closed months as their manifests do, or those of detached ones. */
async function count(
  connection: PgConnection,
  scope: Scope,
  months: readonly StoredMonth[],
  detached: readonly StoredDetachedMonth[],
): Promise<Snapshot> {
  const { rows } = await connection.query<Snapshot>(countsOf(scope));
  if (!rows[0]) throw new TypeError('counting the ledger returned no row');
  const closed = (file: MonthFileName): number =>
    months.reduce((sum, { manifest }) => sum + (manifest?.files.find((one) => one.file === file)?.rows ?? 0), 0);
  const unread = scope.month
    ? { settlements: closed('settlements'), late: closed('late-settlements') }
    : {
        settlements: detached.reduce((sum, month) => sum + month.settlements, 0),
        late: detached.reduce((sum, month) => sum + month.lateSettlements, 0),
      };
  const { settlements, lateSettlements } = rows[0];
  return {
    ...rows[0],
    settlements: settlements + unread.settlements,
    lateSettlements: lateSettlements + unread.late,
  };
}

interface Found {
  invariant: LedgerInvariant;
  first: LedgerViolation[];
}

async function violationsOf(connection: PgConnection, { id, rule, sql }: Invariant, scope: Scope, overdueMs: number): Promise<Found> {
  const query = sql(scope);
  const { rows } = await connection.query<{ subject: string; account_id: string | null; total: number }>(
    `SELECT subject::text, account_id::text, count(*) OVER ()::int AS total FROM (${query}) v ORDER BY subject LIMIT ${SHOWN_MAX}`,
    query.includes('$1') ? [overdueMs] : [],
  );
  const first = rows.map(({ subject, account_id: accountId }) => ({ invariant: id, subject, accountId }));
  return { invariant: { id, rule, violations: rows[0]?.total ?? 0 }, first };
}
