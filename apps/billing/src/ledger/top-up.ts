import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PicoUsd } from '#money/pico-usd.js';

export interface TopUp {
  accountId: string;
  amount: PicoUsd;
  paymentId: string;
}

/**
 * Credits a payment, once by its id; one statement. Repeating it changes nothing (`credited` false).
 * `ServiceError`: `not_found` for an unknown account, `conflict` when the id belongs to another payment.
 */
export async function topUp(
  connection: PgConnection,
  { accountId, amount, paymentId }: TopUp,
): Promise<{ credited: boolean; topup: bigint }> {
  const key = `topup:${paymentId}`;
  const credited = await connection.query<{ topup: string }>(
    `WITH movement AS (
       INSERT INTO billing.movement (account_id, kind, amount, idempotency_key)
       SELECT id, 'topup', $2, $3 FROM billing.account WHERE id = $1
       ON CONFLICT (idempotency_key) DO NOTHING RETURNING account_id, amount
     )
     UPDATE billing.account a SET topup = a.topup + m.amount FROM movement m WHERE a.id = m.account_id RETURNING a.topup`,
    [accountId, String(amount), key],
  );
  if (credited.rows[0]) return { credited: true, topup: BigInt(credited.rows[0].topup) };
  const earlier = await connection.query<{ same: boolean | null; topup: string }>(
    `SELECT a.topup, m.account_id = a.id AND m.amount = $2 AS same
     FROM billing.account a LEFT JOIN billing.movement m ON m.idempotency_key = $3 WHERE a.id = $1`,
    [accountId, String(amount), key],
  );
  const [row] = earlier.rows;
  if (!row) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  if (!row.same) throw new ServiceError('conflict', 'This payment id was credited before, with another account or amount.', 'paymentId');
  return { credited: false, topup: BigInt(row.topup) };
}
