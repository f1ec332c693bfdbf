import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type PicoUsd, picoUsd, renderUsd } from '#money/pico-usd.js';

export interface Adjustment {
  accountId: string;
  adjustmentId: string;
  kind: 'credit' | 'debit';
  amount: PicoUsd;
  reason: string;
}

/**
 * Corrects the top-up balance, once by the adjustment's id; one statement. A debit takes only what is free. Repeating it changes
 * nothing (`adjusted` false).
 * `ServiceError`: `not_found` for an unknown account, `conflict` when the id belongs to another adjustment,
 * `insufficient_balance` with the figures when a debit is too much.
 */
export async function adjust(connection: PgConnection, adjustment: Adjustment): Promise<{ adjusted: boolean; topup: bigint }> {
  const { accountId, adjustmentId, kind, amount, reason } = adjustment;
  const key = `adjust:${adjustmentId}`;
  // What is free is read from the locked row: nobody can take it between the look and the update.
  const adjusted = await connection.query<{ topup: string }>(
    `WITH locked AS MATERIALIZED (
       SELECT id, topup, topup_held FROM billing.account WHERE id = $1 FOR NO KEY UPDATE
     ), adjusted AS (
       INSERT INTO billing.movement (account_id, kind, amount, reason, idempotency_key)
       SELECT id, $2, $3::numeric, $4, $5 FROM locked WHERE $2 = 'credit' OR $3::numeric <= topup - topup_held
       ON CONFLICT (idempotency_key) DO NOTHING RETURNING account_id, kind, amount
     )
     UPDATE billing.account a SET topup = a.topup + CASE m.kind WHEN 'credit' THEN m.amount ELSE -m.amount END
     FROM adjusted m WHERE a.id = m.account_id RETURNING a.topup`,
    [accountId, kind, String(amount), reason, key],
  );
  if (adjusted.rows[0]) return { adjusted: true, topup: BigInt(adjusted.rows[0].topup) };
  const earlier = await connection.query<{ topup: string; free: string; same: boolean | null }>(
    `SELECT a.topup, a.topup - a.topup_held AS free, m.account_id = a.id AND m.kind = $2 AND m.amount = $3 AS same
     FROM billing.account a LEFT JOIN billing.movement m ON m.idempotency_key = $4 WHERE a.id = $1`,
    [accountId, kind, String(amount), key],
  );
  const [row] = earlier.rows;
  if (!row) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  if (row.same === null) throw tooMuch(amount, row.free);
  if (!row.same) throw new ServiceError('conflict', 'This adjustment id was used before, for another adjustment.', 'adjustmentId');
  return { adjusted: false, topup: BigInt(row.topup) };
}

function tooMuch(amount: PicoUsd, free: string): ServiceError {
  return new ServiceError(
    'insufficient_balance',
    `$${renderUsd(amount)} cannot be debited: $${renderUsd(picoUsd(BigInt(free)))} of top-up money is free.`,
    'usd',
    { details: { requestedPicoUsd: String(amount), freePicoUsd: free } },
  );
}
