import type { QueryResult } from 'pg';
import type { AuditEntry } from '#contracts/audit.js';
import { ServiceError } from '#contracts/service-error.js';
import { logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PicoUsd } from '#money/pico-usd.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { recordMovement } from '../audit/record-movement.js';
import { underAccountLock } from '../sql/under-account-lock.js';

interface TopUp {
  accountId: string;
  amount: PicoUsd;
  paymentId: string;
}

/**
 * Credits a payment, in one round trip. Idempotent by payment id: repeating it changes nothing (`credited` false).
 * @throws {ServiceError} `not_found` for an unknown account, `conflict` when the id belongs to another payment.
 */
export async function topUp(
  connection: PgConnection,
  { accountId, amount, paymentId }: TopUp,
  author = OWN_AUTHOR,
): Promise<{ credited: boolean; topup: bigint }> {
  const key = `topup:${paymentId}`;
  const [changed, result] = await underAccountLock(connection, accountId, () => [
    connection.query(CREDIT, [accountId, String(amount), key, author.caller]) as Promise<QueryResult<{ audit: AuditEntry }>>,
    connection.query(READ_RESULT, [accountId, String(amount), key]) as Promise<QueryResult<ResultRow>>,
  ]);
  const [row] = result.rows;
  if (!row) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  if (!row.same) throw new ServiceError('conflict', 'This payment id was credited before, with another account or amount.', 'paymentId');
  for (const { audit } of changed.rows) logAudit(author, audit);
  return { credited: changed.rowCount === 1, topup: BigInt(row.topup) };
}

const CREDIT = `WITH movement AS (
    INSERT INTO billing.movement (account_id, kind, amount, idempotency_key)
    SELECT id, 'topup', $2, $3 FROM billing.account WHERE id = $1
    ON CONFLICT (idempotency_key) DO NOTHING RETURNING *
  ), changed AS (
    UPDATE billing.account a SET topup = a.topup + m.amount FROM movement m WHERE a.id = m.account_id RETURNING m.*, a.topup
  )
  ${recordMovement('topup.create', '$4')}`;

const READ_RESULT = `SELECT a.topup, m.account_id = a.id AND m.amount = $2 AS same
  FROM billing.account a LEFT JOIN billing.movement m ON m.idempotency_key = $3 WHERE a.id = $1`;

interface ResultRow {
  topup: string;
  same: boolean | null;
}
