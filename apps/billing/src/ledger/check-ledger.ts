import type { LedgerCheckReply, LedgerCounts, LedgerInvariant, LedgerViolation } from '#contracts/billing/ledger.js';
import type { PgConnection } from '#database/pg-connection.js';
import { COUNTS, INVARIANTS, type Invariant } from './invariants.js';

/** A bug breaks a rule in many rows at once: the first rows and a count are enough. */
const SHOWN_MAX = 100;

/**
 * Checks the invariants on the rows, in one snapshot and without locks, while traffic runs. A hold may be open for `overdueMs` after its
 * lease. The connection serves nothing else meanwhile. `signal` ends the check after the current statement.
 */
export async function checkLedger(connection: PgConnection, overdueMs: number, signal?: AbortSignal): Promise<LedgerCheckReply> {
  const start = performance.now();
  await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    const { at, auditDigest, ...checked } = await count(connection);
    const invariants: LedgerInvariant[] = [];
    const violations: LedgerViolation[] = [];
    for (const invariant of INVARIANTS) {
      signal?.throwIfAborted();
      const found = await violationsOf(connection, invariant, overdueMs);
      invariants.push({ id: invariant.id, rule: invariant.rule, violations: found.total });
      violations.push(...found.first);
    }
    return {
      checkedAt: at.toISOString(),
      milliseconds: Math.round(performance.now() - start),
      checked,
      auditDigest,
      invariants,
      violations,
    };
  } finally {
    await connection.query('ROLLBACK').catch(() => undefined); // the server rolls back by itself when the connection breaks
  }
}

type Snapshot = LedgerCounts & { at: Date; auditDigest: string };

async function count(connection: PgConnection): Promise<Snapshot> {
  const { rows } = await connection.query<Snapshot>(COUNTS);
  if (!rows[0]) throw new TypeError('counting the ledger returned no row');
  return rows[0];
}

async function violationsOf(
  connection: PgConnection,
  { id, sql }: Invariant,
  overdueMs: number,
): Promise<{ total: number; first: LedgerViolation[] }> {
  const { rows } = await connection.query<{ subject: string; account_id: string | null; total: number }>(
    `SELECT subject::text, account_id::text, count(*) OVER ()::int AS total FROM (${sql}) v ORDER BY subject LIMIT ${SHOWN_MAX}`,
    sql.includes('$1') ? [overdueMs] : [],
  );
  const first = rows.map(({ subject, account_id: accountId }) => ({ invariant: id, subject, accountId }));
  return { total: rows[0]?.total ?? 0, first };
}
