import type { SettleReason } from '#contracts/billing/holds.js';
import type { RequestListReply, RequestListRequest, RequestRow } from '#contracts/billing/requests.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { requireAccount } from '../accounts/accounts.js';
import { isId, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { timeRange } from '../paging/time-range.js';
import { toUsage } from './usage-columns.js';

const LIMIT_DEFAULT = 100;
/** Settlements that one call reads: some 100 ms. */
const READ_MAX = 50_000;
/** The first window back in time. Each further one is `WINDOW_GROWTH` times as long, because the one before had too few rows. */
const WINDOW_MS = 60_000;
const WINDOW_GROWTH = 4;

/**
 * Lists requests, newest first: running ones on the first page, then settlements. Filters have no index of their own: settlements are read
 * back in windows of time until the page is full, the start is reached or `READ_MAX` are read. The indexes on account and time, and for all
 * accounts the block ranges of the journal, find a window.
 *
 * Settlements never change, so pages are stable. A late settlement changes a row in its place.
 * @throws {ServiceError} `not_found` for an unknown account.
 */
export async function listRequests(
  prisma: PrismaClient,
  { limit = LIMIT_DEFAULT, cursor, from, to, ...request }: RequestListRequest,
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

type Filters = Omit<RequestListRequest, 'from' | 'to' | 'limit' | 'cursor'> & { from?: Date | undefined; to?: Date | undefined };

/** A place between two settlements. `settledAt` has microseconds. */
interface Position {
  settledAt: string;
  holdId: string;
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

/** Returns the dimensions that a request must name. `value` undefined: with any value. */
function attributionFilters({ user, tag }: Pick<Filters, 'user' | 'tag'>): { dimension: string; value: string | undefined }[] {
  const [name, ...value] = tag?.split('=') ?? [];
  return [
    ...(user === undefined ? [] : [{ dimension: 'user', value: user }]),
    ...(name === undefined ? [] : [{ dimension: `tag:${name}`, value: value.length > 0 ? value.join('=') : undefined }]),
  ];
}

interface Window {
  /** Number of settlements in the window, at most those asked for. */
  read: number;
  /** The oldest of them. */
  last: Position | null;
  matching: SettledRow[] | null;
}

function readingWindow(filters: Filters, from: Date, after: Position | undefined, readMax: number, wanted: number): Prisma.Sql {
  const { accountId, projectId, keyId, model, upstream, ending, costMinPicoUsd, costMaxPicoUsd, tookMinMs, tookMaxMs, to } = filters;
  const when = (value: unknown, sql: Prisma.Sql): Prisma.Sql => (value === undefined ? Prisma.empty : sql);
  // A late settlement may change these.
  const mayBeLate = [upstream, ending, costMinPicoUsd, costMaxPicoUsd].some((filter) => filter !== undefined);
  const cost = Prisma.sql`s.cost + coalesce(l.due - l.writeoff, 0)`;
  const tookMs = Prisma.sql`extract(epoch FROM s.at - coalesce(s.reserved_at, s.at)) * 1000`;
  const attributed = attributionFilters(filters).map(({ dimension, value }) =>
    value === undefined
      ? Prisma.sql`AND s.attribution -> ${dimension}::text IS NOT NULL`
      : Prisma.sql`AND s.attribution ->> ${dimension}::text = ${value}`,
  );
  // Columns that few questions need would make the window of the others larger.
  const columns = [
    ...((costMinPicoUsd ?? costMaxPicoUsd) !== undefined ? [Prisma.sql`s.cost`] : []),
    ...((tookMinMs ?? tookMaxMs) !== undefined ? [Prisma.sql`s.reserved_at`] : []),
    ...(attributed.length > 0 ? [Prisma.sql`s.attribution`] : []),
  ].map((column) => Prisma.sql`, ${column}`);
  return Prisma.sql`
    WITH window_rows AS MATERIALIZED (
      SELECT s.hold_id, s.settled_at AS at, s.project_id, s.key_id, s.model, s.upstream, s.reason
        ${Prisma.join([Prisma.empty, ...columns], ' ')}
      FROM billing.settlement s
      WHERE s.project_id IS NOT NULL AND s.settled_at >= ${from}
        ${when(accountId, Prisma.sql`AND s.account_id = ${accountId}::uuid`)}
        ${when(to, Prisma.sql`AND s.settled_at < ${to}`)}
        ${after ? Prisma.sql`AND s.settled_at <= ${after.settledAt}::timestamptz` : Prisma.empty}
        ${after ? Prisma.sql`AND (s.settled_at, s.hold_id) < (${after.settledAt}::timestamptz, ${after.holdId}::uuid)` : Prisma.empty}
      ORDER BY s.settled_at DESC, s.hold_id DESC LIMIT ${readMax}
    ), matching AS MATERIALIZED (
      SELECT s.hold_id, s.at FROM window_rows s ${mayBeLate ? Prisma.sql`LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id` : Prisma.empty}
      WHERE true
        ${when(projectId, Prisma.sql`AND s.project_id = ${projectId}::uuid`)}
        ${when(keyId, Prisma.sql`AND s.key_id = ${keyId}::uuid`)}
        ${when(model, Prisma.sql`AND s.model = ${model}`)}
        ${when(upstream, Prisma.sql`AND CASE WHEN l.hold_id IS NULL THEN s.upstream ELSE l.upstream END = ${upstream}`)}
        ${when(ending, Prisma.sql`AND coalesce(l.reason, s.reason) = ${ending}`)}
        ${when(costMinPicoUsd, Prisma.sql`AND ${cost} >= ${costMinPicoUsd}::numeric`)}
        ${when(costMaxPicoUsd, Prisma.sql`AND ${cost} <= ${costMaxPicoUsd}::numeric`)}
        ${when(tookMinMs, Prisma.sql`AND ${tookMs} >= ${tookMinMs}`)}
        ${when(tookMaxMs, Prisma.sql`AND ${tookMs} <= ${tookMaxMs}`)}
        ${Prisma.join([Prisma.empty, ...attributed], ' ')}
      ORDER BY s.at DESC, s.hold_id DESC LIMIT ${wanted}
    ), final AS (
      SELECT to_char(m.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "settledAt", s.hold_id AS "holdId",
        s.request_id AS "requestId", s.account_id AS "accountId", s.project_id AS "projectId", s.key_id AS "keyId", s.model,
        coalesce(s.reserved_at, s.settled_at) AS "reservedAt", s.held::text AS held,
        CASE WHEN l.hold_id IS NULL THEN s.upstream ELSE l.upstream END AS upstream,
        coalesce(l.reason, s.reason) AS reason, (s.cost + coalesce(l.due - l.writeoff, 0))::text AS cost,
        coalesce(l.prompt_tokens, s.prompt_tokens) AS "promptTokens", coalesce(l.cached_tokens, s.cached_tokens) AS "cachedTokens",
        CASE WHEN l.hold_id IS NULL THEN s.cache_write_tokens ELSE l.cache_write_tokens END AS "cacheWriteTokens",
        CASE WHEN l.hold_id IS NULL THEN s.cache_write_1h_tokens ELSE l.cache_write_1h_tokens END AS "cacheWrite1hTokens",
        CASE WHEN l.hold_id IS NULL THEN s.tier ELSE l.tier END AS tier,
        coalesce(l.output_tokens, s.output_tokens) AS "outputTokens", coalesce(l.reasoning_tokens, s.reasoning_tokens) AS "reasoningTokens",
        CASE WHEN l.hold_id IS NULL THEN s.prompt_source ELSE l.prompt_source END AS "promptSource",
        CASE WHEN l.hold_id IS NULL THEN s.output_source ELSE l.output_source END AS "outputSource"
      FROM matching m JOIN billing.settlement s ON s.hold_id = m.hold_id LEFT JOIN billing.late_settlement l ON l.hold_id = m.hold_id
    )
    SELECT (SELECT count(*)::int FROM window_rows) AS read, (SELECT json_agg(f ORDER BY f."settledAt" DESC, f."holdId" DESC) FROM final f) AS matching,
      (SELECT json_build_object('settledAt', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'holdId', hold_id)
       FROM (SELECT at, hold_id FROM window_rows ORDER BY at, hold_id LIMIT 1) oldest) AS last`;
}

interface SettledRow extends Position {
  requestId: string;
  accountId: string;
  projectId: string;
  keyId: string;
  model: string;
  reservedAt: string;
  held: string;
  upstream: string | null;
  reason: string;
  cost: string;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number | null;
  cacheWrite1hTokens: number | null;
  tier: string | null;
  outputTokens: number;
  reasoningTokens: number;
  promptSource: string | null;
  outputSource: string | null;
}

function toPosition(row: SettledRow | undefined): Position | undefined {
  return row && { settledAt: row.settledAt, holdId: row.holdId };
}

function renderSettled(row: SettledRow): RequestRow {
  return {
    requestId: row.requestId,
    holdId: row.holdId,
    accountId: row.accountId,
    projectId: row.projectId,
    keyId: row.keyId,
    model: row.model,
    upstream: row.upstream,
    reservedAt: new Date(row.reservedAt).toISOString(),
    heldPicoUsd: row.held,
    settledAt: new Date(row.settledAt).toISOString(),
    ending: row.reason as SettleReason,
    usage: toUsage(row),
    costPicoUsd: row.cost,
  };
}
