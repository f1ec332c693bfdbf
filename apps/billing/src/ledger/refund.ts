import type { QueryResult } from 'pg';
import type { AuditEntry } from '#contracts/audit.js';
import { ServiceError } from '#contracts/service-error.js';
import { logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type PicoUsd, picoUsd, renderUsd } from '#money/pico-usd.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { recordMovement } from '../audit/record-movement.js';
import { underAccountLock } from '../sql/under-account-lock.js';

export interface Refund {
  accountId: string;
  refundId: string;
  /** Absent: all top-ups of the account. */
  paymentId?: string;
  /** Absent: all that is not refunded yet. */
  amount?: PicoUsd;
  /** Takes less where less is left. */
  atMost?: boolean;
  reason?: string;
}

interface Refunded {
  refunded: boolean;
  amount: bigint;
  topup: bigint;
}

/**
 * Refunds a top-up, in one round trip. Takes only money that is neither held nor refunded already, and never the credit line; with `atMost`
 * what there is of the amount. Idempotent by refund id: repeating it changes nothing (`refunded` false).
 * @throws {ServiceError} `not_found` for an unknown account or payment, `conflict` when the id belongs to another refund,
 * `insufficient_balance` with the amounts.
 */
export async function refund(connection: PgConnection, wanted: Refund, author = OWN_AUTHOR): Promise<Refunded> {
  const { accountId, refundId, paymentId = null, amount, atMost = false, reason = null } = wanted;
  const key = `refund:${refundId}`;
  const payment = paymentId === null ? null : `topup:${paymentId}`;
  const [changed, result] = await underAccountLock(connection, accountId, () => [
    connection.query(REFUND, [
      accountId,
      payment,
      amount === undefined ? null : String(amount),
      reason,
      key,
      author.caller,
      atMost,
    ]) as Promise<QueryResult<{ audit: AuditEntry }>>,
    connection.query(READ_RESULT, [accountId, payment, key]) as Promise<QueryResult<ResultRow>>,
  ]);
  const [row] = result.rows;
  if (!row) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  if (row.recorded === null) throw refusal(wanted, row);
  const recorded = BigInt(row.recorded);
  const isSame = row.is_same && (amount === undefined || recorded === amount || (atMost && recorded < amount));
  if (!isSame) throw new ServiceError('conflict', 'This refund id was used before, for another refund.', 'refundId');
  for (const { audit } of changed.rows) logAudit(author, audit);
  return { refunded: changed.rowCount === 1, amount: recorded, topup: BigInt(row.topup) };
}

/** Refundable money of account $1 and payment $2, or of all payments when $2 is null. */
const LIMITS = `payment AS (
    SELECT id, amount FROM billing.movement WHERE idempotency_key = $2 AND account_id = $1 AND kind = 'topup'
  ), limits AS (
    SELECT a.id, a.topup, greatest(a.topup - a.topup_held, 0) AS free, least(
        (SELECT coalesce(sum(CASE kind WHEN 'topup' THEN amount ELSE -amount END), 0) FROM billing.movement
          WHERE account_id = $1 AND kind IN ('topup', 'refund')),
        (SELECT p.amount - coalesce((SELECT sum(amount) FROM billing.movement WHERE refund_of = p.id), 0) FROM payment p)) AS refundable
    FROM billing.account a WHERE a.id = $1 AND ($2::text IS NULL OR EXISTS (SELECT FROM payment))
  )`;

const REFUND = `WITH ${LIMITS}, wanted AS (
    SELECT *, CASE WHEN $7 THEN least($3::numeric, refundable, free) ELSE coalesce($3::numeric, refundable) END AS amount FROM limits
  ), refunded AS (
    INSERT INTO billing.movement (account_id, kind, amount, refund_of, reason, idempotency_key)
    SELECT id, 'refund', amount, (SELECT id FROM payment), $4, $5 FROM wanted WHERE amount BETWEEN 1 AND least(refundable, free)
    ON CONFLICT (idempotency_key) DO NOTHING RETURNING *
  ), changed AS (
    UPDATE billing.account a SET topup = a.topup - r.amount FROM refunded r WHERE a.id = r.account_id RETURNING r.*, a.topup
  )
  ${recordMovement('refund.create', '$6')}`;

const READ_RESULT = `WITH ${LIMITS}
  SELECT a.topup, l.free, l.refundable, m.amount AS recorded,
    m.account_id = a.id AND m.refund_of IS NOT DISTINCT FROM (SELECT id FROM payment) AS is_same
  FROM billing.account a LEFT JOIN limits l ON l.id = a.id LEFT JOIN billing.movement m ON m.idempotency_key = $3 WHERE a.id = $1`;

interface ResultRow {
  topup: string;
  /** Null: there is no such payment. */
  free: string | null;
  refundable: string | null;
  /** Null: nothing was refunded under this id. */
  recorded: string | null;
  is_same: boolean;
}

function refusal({ amount }: Refund, { free, refundable }: ResultRow): ServiceError {
  if (free === null || refundable === null) return new ServiceError('not_found', 'This account has no such payment.', 'paymentId');
  const requested = String(amount ?? refundable);
  const dollars = (figure: string): string => `$${renderUsd(picoUsd(BigInt(figure)))}`;
  return new ServiceError(
    'insufficient_balance',
    `${dollars(requested)} cannot be refunded: ${dollars(refundable)} was topped up and not refunded yet, ${dollars(free)} of top-up money is not held.`,
    'usd',
    { details: { requestedPicoUsd: requested, refundablePicoUsd: refundable, freePicoUsd: free } },
  );
}
