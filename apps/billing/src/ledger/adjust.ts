import type { QueryResult } from 'pg';
import type { AuditEntry } from '#contracts/audit.js';
import { ServiceError } from '#contracts/service-error.js';
import { logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type PicoUsd, picoUsd, renderUsd } from '#money/pico-usd.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { recordMovement } from '../audit/record-movement.js';
import { underAccountLock } from '../sql/under-account-lock.js';

export interface Adjustment {
  accountId: string;
  adjustmentId: string;
  kind: 'credit' | 'debit';
  amount: PicoUsd;
  reason: string;
}

/**
 * Corrects the top-up balance, in one round trip. A debit takes only money that is not held, and may use the credit line. Idempotent by
 * adjustment id: repeating it changes nothing (`adjusted` false).
 * @throws {ServiceError} `not_found` for an unknown account, `conflict` when the id belongs to another adjustment, `insufficient_balance`
 * with the amounts.
 */
export async function adjust(
  connection: PgConnection,
  adjustment: Adjustment,
  author = OWN_AUTHOR,
): Promise<{ adjusted: boolean; topup: bigint }> {
  const { accountId, adjustmentId, kind, amount, reason } = adjustment;
  const key = `adjust:${adjustmentId}`;
  const [changed, result] = await underAccountLock(connection, accountId, () => [
    connection.query(ADJUST, [accountId, kind, String(amount), reason, key, author.caller]) as Promise<QueryResult<{ audit: AuditEntry }>>,
    connection.query(READ_RESULT, [accountId, kind, String(amount), key]) as Promise<QueryResult<ResultRow>>,
  ]);
  const [row] = result.rows;
  if (!row) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  if (row.same === null) throw tooMuch(amount, row.free);
  if (!row.same) throw new ServiceError('conflict', 'This adjustment id was used before, for another adjustment.', 'adjustmentId');
  for (const { audit } of changed.rows) logAudit(author, audit);
  return { adjusted: changed.rowCount === 1, topup: BigInt(row.topup) };
}

const ADJUST = `WITH adjusted AS (
    INSERT INTO billing.movement (account_id, kind, amount, reason, idempotency_key)
    SELECT id, $2, $3::numeric, $4, $5 FROM billing.account
    WHERE id = $1 AND ($2 = 'credit' OR $3::numeric <= topup + credit_line - topup_held)
    ON CONFLICT (idempotency_key) DO NOTHING RETURNING *
  ), changed AS (
    UPDATE billing.account a SET topup = a.topup + CASE m.kind WHEN 'credit' THEN m.amount ELSE -m.amount END
    FROM adjusted m WHERE a.id = m.account_id RETURNING m.*, a.topup
  )
  ${recordMovement('adjustment.create', '$6')}`;

const READ_RESULT = `SELECT a.topup, a.topup + a.credit_line - a.topup_held AS free,
    m.account_id = a.id AND m.kind = $2 AND m.amount = $3 AS same
  FROM billing.account a LEFT JOIN billing.movement m ON m.idempotency_key = $4 WHERE a.id = $1`;

interface ResultRow {
  topup: string;
  free: string;
  /** Null: nothing was adjusted under this id. */
  same: boolean | null;
}

function tooMuch(amount: PicoUsd, free: string): ServiceError {
  return new ServiceError(
    'insufficient_balance',
    `$${renderUsd(amount)} cannot be debited: $${renderUsd(picoUsd(BigInt(free)))} of top-up money and credit line is not held.`,
    'usd',
    { details: { requestedPicoUsd: String(amount), freePicoUsd: free } },
  );
}
