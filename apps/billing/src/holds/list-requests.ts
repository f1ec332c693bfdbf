import { attributionFilters } from '#contracts/billing/attribution.js';
import type { RequestListReply, RequestListRequest, RequestRow } from '#contracts/billing/requests.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { requireAccount } from '../accounts/accounts.js';
import { isId, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { timeRange } from '../paging/time-range.js';
import { applyFilters, type Filters, type Position, renderSettled, SETTLED_ROWS, type SettledRow } from './settled-rows.js';
import { sortRequests } from './sort-requests.js';

const LIMIT_DEFAULT = 100;
/** Settlements that one call reads: some 100 ms. */
const READ_MAX = 50_000;
/** The first window back in time. Each further one is `WINDOW_GROWTH` times as long, because the one before had too few rows. */
const WINDOW_MS = 60_000;
const WINDOW_GROWTH = 4;

/**
 * Lists requests in any order. Only newest first has pages without a bound; see `sortRequests` for the others.
 * @throws {ServiceError} `not_found` for an unknown account, `invalid_request` when there are too many to sort.
 */
export async function listRequests(
  prisma: PrismaClient,
  { sort, order, ...request }: RequestListRequest,
  readMax?: number,
): Promise<RequestListReply> {
  const isNewestFirst = (sort ?? 'time') === 'time' && order !== 'asc';
  return isNewestFirst ? listNewest(prisma, request, readMax) : sortRequests(prisma, { ...request, sort, order }, readMax);
}

/**
 * Lists requests, newest first: running ones on the first page, then settlements. Filters have no index of their own: settlements are read
 * back in windows of time until the page is full, the start is reached or `READ_MAX` are read. The indexes on account and time, and for all
 * accounts the block ranges of the journal, find a window.
 *
 * Settlements never change, so pages are stable. A late settlement changes a row in its place.
 * @throws {ServiceError} `not_found` for an unknown account.
 */
async function listNewest(
  prisma: PrismaClient,
  { limit = LIMIT_DEFAULT, cursor, from, to, ...request }: Omit<RequestListRequest, 'sort' | 'order'>,
  readMax = READ_MAX,
): Promise<RequestListReply> {
  const filters: Filters = { ...request, ...timeRange(from, to) };
  const question = ['requests', filters];
  const [settledAt, holdId] = cursor ? parseCursor(question, cursor, [isMoment, isId]) : [];
  const after = settledAt && holdId ? { settledAt, holdId } : undefined;
  if (!after && filters.accountId) await requireAccount(prisma, filters.accountId);
  const running = after ? [] : await listRunning(prisma, filters, limit);
  const { rows, position } = await readBack(prisma, filters, after, limit, readMax);
  return {
    requests: [...running, ...rows.map(renderSettled)],
    nextCursor: position ? renderCursor(question, [position.settledAt, position.holdId]) : null,
    searchedTo: position ? new Date(position.settledAt).toISOString() : null,
  };
}

/** Running requests have no ending, upstream, cost and duration. */
async function listRunning(prisma: PrismaClient, filters: Filters, limit: number): Promise<RequestRow[]> {
  const { accountId, projectId, keyId, model, user, tag, from, to, ...ofEnded } = filters;
  if (Object.values(ofEnded).some((filter) => filter !== undefined)) return [];
  const named = attributionFilters({ user, tag }).map(({ dimension, value }) => ({
    attribution: { path: [dimension], ...(value === undefined ? { not: Prisma.AnyNull } : { equals: value }) },
  }));
  const holds = await prisma.hold.findMany({
    where: { accountId, projectId, keyId, model, createdAt: { gte: from, lt: to }, AND: named },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
  return holds.map((hold) => ({
    requestId: hold.requestId,
    holdId: hold.id,
    accountId: hold.accountId,
    projectId: hold.projectId,
    keyId: hold.keyId,
    model: hold.model,
    upstream: null,
    reservedAt: hold.createdAt.toISOString(),
    heldPicoUsd: String(hold.amount),
    settledAt: null,
    ending: null,
    usage: null,
    costPicoUsd: null,
  }));
}

/** Returns at most `limit` settlements, and the position from which the next page reads on; undefined at the end. */
async function readBack(
  prisma: PrismaClient,
  filters: Filters,
  after: Position | undefined,
  limit: number,
  readMax: number,
): Promise<{ rows: SettledRow[]; position?: Position }> {
  const rows: SettledRow[] = [];
  const oldest = filters.from?.getTime() ?? 0;
  let position = after;
  let read = 0;
  let windowTo = after ? Date.parse(after.settledAt) : Math.min(filters.to?.getTime() ?? Date.now(), Date.now());
  for (let windowMs = WINDOW_MS; ; windowMs *= WINDOW_GROWTH) {
    windowTo = Math.max(windowTo - windowMs, oldest);
    const wanted = limit + 1 - rows.length;
    const readable = isFiltered(filters) ? readMax - read : wanted;
    const [window] = await prisma.$queryRaw<Window[]>(readingWindow(filters, new Date(windowTo), position, readable, wanted));
    if (!window) throw new TypeError('a window of the journal returned no row');
    rows.push(...(window.matching ?? []));
    if (rows.length > limit) return { rows: rows.slice(0, limit), position: toPosition(rows[limit - 1]) };
    read += window.read;
    position = window.last ?? position;
    if (read >= readMax) return { rows, position };
    if (windowTo <= oldest) return { rows };
  }
}

/** False when every settlement of the time and account belongs to the list. */
function isFiltered({ accountId: _, from: __, to: ___, ...filters }: Filters): boolean {
  return Object.values(filters).some((filter) => filter !== undefined);
}

interface Window {
  /** Number of settlements in the window, at most those asked for. */
  read: number;
  /** The oldest of them. */
  last: Position | null;
  matching: SettledRow[] | null;
}

function readingWindow(filters: Filters, from: Date, after: Position | undefined, readMax: number, wanted: number): Prisma.Sql {
  const { accountId, to } = filters;
  const when = (value: unknown, sql: Prisma.Sql): Prisma.Sql => (value === undefined ? Prisma.empty : sql);
  const { columns, late, conditions } = applyFilters(filters);
  return Prisma.sql`
    WITH window_rows AS MATERIALIZED (
      SELECT s.hold_id, s.settled_at AS at ${columns}
      FROM billing.settlement s
      WHERE s.project_id IS NOT NULL AND s.settled_at >= ${from}
        ${when(accountId, Prisma.sql`AND s.account_id = ${accountId}::uuid`)}
        ${when(to, Prisma.sql`AND s.settled_at < ${to}`)}
        ${after ? Prisma.sql`AND s.settled_at <= ${after.settledAt}::timestamptz` : Prisma.empty}
        ${after ? Prisma.sql`AND (s.settled_at, s.hold_id) < (${after.settledAt}::timestamptz, ${after.holdId}::uuid)` : Prisma.empty}
      ORDER BY s.settled_at DESC, s.hold_id DESC LIMIT ${readMax}
    ), matching AS MATERIALIZED (
      SELECT s.hold_id, s.at FROM window_rows s ${late} WHERE true ${conditions}
      ORDER BY s.at DESC, s.hold_id DESC LIMIT ${wanted}
    ), final AS (${SETTLED_ROWS})
    SELECT (SELECT count(*)::int FROM window_rows) AS read, (SELECT json_agg(f ORDER BY f."settledAt" DESC, f."holdId" DESC) FROM final f) AS matching,
      (SELECT json_build_object('settledAt', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'holdId', hold_id)
       FROM (SELECT at, hold_id FROM window_rows ORDER BY at, hold_id LIMIT 1) oldest) AS last`;
}

function toPosition(row: SettledRow | undefined): Position | undefined {
  return row && { settledAt: row.settledAt, holdId: row.holdId };
}
