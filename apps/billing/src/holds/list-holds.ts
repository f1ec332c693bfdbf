import type { HoldListReply, HoldListRequest, OpenHold } from '#contracts/billing/holds.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { isId, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';

const LIMIT_DEFAULT = 1_000;

/**
 * Lists open holds of one account or all, oldest first. A page starts after the last hold of the page before, even if
 * that hold has ended meanwhile, so a hold that stays open is listed exactly once.
 */
export async function listHolds(prisma: PrismaClient, request: HoldListRequest): Promise<HoldListReply> {
  const accountId = request.accountId ?? null;
  const limit = request.limit ?? LIMIT_DEFAULT;
  const filters = ['holds', accountId];
  const [createdAt, id] = request.cursor ? parseCursor(filters, request.cursor, [isMoment, isId]) : [];
  const rows = await prisma.$queryRaw<HoldRow[]>`
    SELECT id::text, request_id AS "requestId", account_id::text AS "accountId", project_id::text AS "projectId", model, amount::text,
      to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "createdAt", lease_until AS "leaseUntil"
    FROM billing.hold
    WHERE true
      ${accountId ? Prisma.sql`AND account_id = ${accountId}::uuid` : Prisma.empty}
      ${createdAt ? Prisma.sql`AND (created_at, id) > (${createdAt}::timestamptz, ${id}::uuid)` : Prisma.empty}
    ORDER BY billing.hold.created_at, billing.hold.id LIMIT ${limit + 1}`;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    holds: page.map(renderHold),
    nextCursor: rows.length > limit && last ? renderCursor(filters, [last.createdAt, last.id]) : null,
  };
}

interface HoldRow {
  id: string;
  requestId: string;
  accountId: string;
  projectId: string;
  model: string;
  amount: string;
  /** With microseconds. */
  createdAt: string;
  leaseUntil: Date;
}

function renderHold({ id, amount, createdAt, leaseUntil, requestId, accountId, projectId, model }: HoldRow): OpenHold {
  return {
    holdId: id,
    requestId,
    accountId,
    projectId,
    model,
    amountPicoUsd: amount,
    createdAt: new Date(createdAt).toISOString(),
    leaseUntil: leaseUntil.toISOString(),
  };
}
