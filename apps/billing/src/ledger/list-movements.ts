import type { Movement, MovementKind, MovementListReply, MovementListRequest } from '#contracts/billing/movements.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { requireAccount } from '../accounts/accounts.js';
import { isId, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { timeRange } from '../paging/time-range.js';

const LIMIT_DEFAULT = 100;

/**
 * Lists the movements of an account, newest first, by the index `movement_account_id_created_at`. Movements never change, so pages are
 * stable; new movements appear before the first page.
 * @throws {ServiceError} `not_found` for an unknown account.
 */
export async function listMovements(prisma: PrismaClient, request: MovementListRequest): Promise<MovementListReply> {
  const { accountId } = request;
  const { from, to } = timeRange(request.from, request.to);
  const kinds = request.kinds?.length ? request.kinds : undefined;
  const limit = request.limit ?? LIMIT_DEFAULT;
  const filters = { accountId, from, to, kinds };
  const [createdAt, id] = request.cursor ? parseCursor(filters, request.cursor, [isMoment, isId]) : [];
  const rows = await prisma.$queryRaw<MovementRow[]>`
    SELECT id::text, kind, amount::text, grant_id::text AS "grantId", refund_of::text AS "refundOf", note_of::text AS "noteOf", reason,
      idempotency_key AS "idempotencyKey", to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt"
    FROM billing.movement
    WHERE account_id = ${accountId}::uuid
      ${from ? Prisma.sql`AND created_at >= ${from}` : Prisma.empty}
      ${to ? Prisma.sql`AND created_at < ${to}` : Prisma.empty}
      ${kinds ? Prisma.sql`AND kind = ANY (${kinds})` : Prisma.empty}
      ${createdAt ? Prisma.sql`AND (created_at, id) < (${createdAt}::timestamptz, ${id}::uuid)` : Prisma.empty}
    ORDER BY billing.movement.created_at DESC, billing.movement.id DESC LIMIT ${limit + 1}`;
  if (rows.length === 0) await requireAccount(prisma, accountId);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    movements: page.map((row) => renderMovement(row, accountId)),
    nextCursor: rows.length > limit && last ? renderCursor(filters, [last.createdAt, last.id]) : null,
  };
}

interface MovementRow {
  id: string;
  kind: MovementKind;
  amount: string;
  grantId: string | null;
  refundOf: string | null;
  noteOf: string | null;
  reason: string | null;
  idempotencyKey: string;
  /** With microseconds. */
  createdAt: string;
}

const ADDS: Record<MovementKind, boolean> = {
  ...{ topup: true, grant: true, credit: true, 'credit-note': true },
  ...{ forfeit: false, refund: false, debit: false },
};

function renderMovement(row: MovementRow, accountId: string): Movement {
  return {
    movementId: row.id,
    kind: row.kind,
    amountPicoUsd: ADDS[row.kind] || row.amount === '0' ? row.amount : `-${row.amount}`,
    reference: toReference(row, accountId),
    grantId: row.grantId,
    refundOf: row.refundOf,
    noteOf: row.noteOf,
    reason: row.reason,
    createdAt: new Date(row.createdAt).toISOString(),
  };
}

/** Returns the caller's part of the idempotency key. Its prefix separates kinds, and grants of different accounts. */
function toReference({ kind, idempotencyKey }: MovementRow, accountId: string): string | null {
  switch (kind) {
    case 'topup':
    case 'refund':
    case 'credit':
    case 'debit':
    case 'credit-note':
      return idempotencyKey.slice(idempotencyKey.indexOf(':') + 1);
    case 'grant': {
      const prefix = [`grant:${accountId}:`, 'subscription:'].find((one) => idempotencyKey.startsWith(one));
      return prefix === undefined ? null : idempotencyKey.slice(prefix.length);
    }
    case 'forfeit':
      return null;
  }
}
