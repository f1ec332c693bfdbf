import type { QueryResult } from 'pg';
import type { AuditEntry } from '#contracts/audit.js';
import { ServiceError } from '#contracts/service-error.js';
import { logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { type PicoUsd, picoUsd, renderUsd } from '#money/pico-usd.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { recordMovement } from '../audit/record-movement.js';
import { underAccountLock } from '../sql/under-account-lock.js';

export interface CreditNote {
  requestId: string;
  /** Absent: the request may be of any account. */
  accountId?: string | undefined;
  noteId: string;
  /** Absent: all of the cost that is not given back yet. */
  amount?: PicoUsd | undefined;
  reason: string;
}

interface Credited {
  accountId: string;
  credited: boolean;
  amount: bigint;
  topup: bigint;
}

/**
 * Gives back the cost of a settled request, as top-up money. The notes of a request never exceed its cost. Idempotent by note id: repeating it
 * changes nothing (`credited` false).
 * @throws {ServiceError} `not_found` for an unknown request, `conflict` for one that runs, that the reaper billed or whose month is detached,
 * when the id belongs to another note, and with the amounts when the cost is exceeded.
 */
export async function creditNote(connection: PgConnection, note: CreditNote, author = OWN_AUTHOR): Promise<Credited> {
  const { noteId, amount, reason } = note;
  const { holdId, accountId } = await readSettlement(connection, note);
  const key = `note:${noteId}`;
  const [changed, result] = await underAccountLock(connection, accountId, () => [
    connection.query(CREDIT, [holdId, amount === undefined ? null : String(amount), reason, key, author.caller]) as Promise<
      QueryResult<{ audit: AuditEntry }>
    >,
    connection.query(READ_RESULT, [holdId, key]) as Promise<QueryResult<ResultRow>>,
  ]);
  const [row] = result.rows;
  if (!row) throw new TypeError('a settlement has gone');
  if (row.recorded === null) throw refusal(amount, row);
  const isSame = row.is_same && row.reason === reason && (amount === undefined || BigInt(row.recorded) === amount);
  if (!isSame) throw new ServiceError('conflict', 'This note id was used before, for another credit note.', 'noteId');
  for (const { audit } of changed.rows) logAudit(author, audit);
  return { accountId, credited: changed.rowCount === 1, amount: BigInt(row.recorded), topup: BigInt(row.topup) };
}

/** Returns the hold and the account of a settled request. Neither changes, so they are read before the lock. */
async function readSettlement(
  connection: PgConnection,
  { requestId, accountId: of }: Pick<CreditNote, 'requestId' | 'accountId'>,
): Promise<{ holdId: string; accountId: string }> {
  const { rows } = await connection.query<{ holdId: string; accountId: string }>(
    `SELECT hold_id AS "holdId", account_id AS "accountId" FROM billing.settlement
      WHERE request_id = $1 AND ($2::uuid IS NULL OR account_id = $2) ORDER BY settled_at DESC LIMIT 1`,
    [requestId, of ?? null],
  );
  return rows[0] ?? missing(connection, requestId, of ?? null);
}

async function missing(connection: PgConnection, requestId: string, accountId: string | null): Promise<never> {
  // The id of a request begins with its time, as that of its hold does.
  const { rows } = await connection.query<{ runs: boolean; detached: string | null }>(
    `SELECT EXISTS (SELECT FROM billing.hold WHERE request_id = $1 AND ($2::uuid IS NULL OR account_id = $2)) AS runs,
      (SELECT min(id) FROM billing.detached_month WHERE replace(ids_below::text, '-', '') > replace(substring($1 FROM 5), '-', '')) AS detached`,
    [requestId, accountId],
  );
  if (rows[0]?.runs) throw new ServiceError('conflict', 'The request still runs: nothing is charged yet.', 'requestId');
  if (rows[0]?.detached) {
    const message = `No settled request has this id. A request of ${rows[0].detached}, which is detached, gets a credit note after \`tollgate month attach\`.`;
    throw new ServiceError('conflict', message, 'requestId');
  }
  const of = accountId === null ? '' : ' of this account';
  throw new ServiceError('not_found', `No settled request${of} has this id.`, 'requestId');
}

/** Cost of the settlement $1 that is not given back yet. Null while the bill of the reaper may still change. */
const LIMITS = `limits AS (
    SELECT s.account_id, CASE WHEN s.reason <> 'lease-expired' OR l.hold_id IS NOT NULL THEN s.cost + coalesce(l.due - l.writeoff, 0)
        - coalesce((SELECT sum(amount) FROM billing.movement WHERE note_of = s.hold_id), 0) END AS creditable
    FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id WHERE s.hold_id = $1
  )`;

const CREDIT = `WITH ${LIMITS}, credited AS (
    INSERT INTO billing.movement (account_id, kind, amount, note_of, reason, idempotency_key)
    SELECT account_id, 'credit-note', coalesce($2::numeric, creditable), $1, $3, $4 FROM limits
    WHERE coalesce($2::numeric, creditable) BETWEEN 1 AND creditable
    ON CONFLICT (idempotency_key) DO NOTHING RETURNING *
  ), changed AS (
    UPDATE billing.account a SET topup = a.topup + c.amount FROM credited c WHERE a.id = c.account_id RETURNING c.*, a.topup
  )
  ${recordMovement('credit-note.create', '$5')}`;

const READ_RESULT = `WITH ${LIMITS}
  SELECT a.topup, l.creditable, m.amount AS recorded, m.reason, m.note_of IS NOT DISTINCT FROM $1 AS is_same
  FROM limits l JOIN billing.account a ON a.id = l.account_id LEFT JOIN billing.movement m ON m.idempotency_key = $2`;

interface ResultRow {
  topup: string;
  /** Null: the reaper has billed the request. */
  creditable: string | null;
  /** Null: nothing was credited under this id. */
  recorded: string | null;
  reason: string | null;
  is_same: boolean;
}

function refusal(amount: PicoUsd | undefined, { creditable }: ResultRow): ServiceError {
  if (creditable === null) {
    const message = 'The reaper billed this request, and the service that ran it may still correct the bill. Use an adjustment instead.';
    return new ServiceError('conflict', message, 'requestId');
  }
  const requested = String(amount ?? creditable);
  const dollars = (figure: string): string => `$${renderUsd(picoUsd(BigInt(figure)))}`;
  return new ServiceError(
    'conflict',
    `${dollars(requested)} cannot be given back: ${dollars(creditable)} of the cost of this request is not given back yet.`,
    'usd',
    { details: { requestedPicoUsd: requested, creditablePicoUsd: creditable } },
  );
}
