import { attributionFilters } from '#contracts/billing/attribution.js';
import type { EndedRequest } from '#contracts/gateway.js';
import type { RequestOrder } from '#contracts/rules/request-order.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';

/** Refusals that one page with filters reads: some 50 ms. */
const READ_MAX = 5_000;

/** The refused requests that a list is about. */
export interface RefusalFilters {
  /** Absent: all accounts. */
  accountId?: string | undefined;
  /** Start, included. */
  from?: string | undefined;
  /** End, excluded. */
  to?: string | undefined;
  projectId?: string | undefined;
  keyId?: string | undefined;
  model?: string | undefined;
  status?: number | undefined;
  code?: string | undefined;
  /** End user, and a tag such as `team=search`, or `team` with any value. */
  user?: string | undefined;
  tag?: string | undefined;
  /** Default: `desc`, the newest first. */
  order?: RequestOrder | undefined;
}

/** A place in the order of refusals. With an empty id everything after it is older than its moment, or not older when the oldest come first. */
export interface RefusalPlace {
  at: string;
  requestId: string;
}

export interface RefusalPage {
  refusals: (EndedRequest & { accountId: string })[];
  /** The place at which the next page begins. Undefined: this was the last one. */
  next: RefusalPlace | undefined;
}

/** Reads one page of the refused requests of the time. Its filters have no index of their own: a page reads at most `readMax` refusals. */
export async function readRefusals(
  prisma: PrismaClient,
  filters: RefusalFilters,
  after: RefusalPlace | undefined,
  limit: number,
  readMax = READ_MAX,
): Promise<RefusalPage> {
  const readable = isFiltered(filters) ? readMax : limit + 1;
  const [found] = await prisma.$queryRaw<Found[]>(reading(filters, after, readable, limit + 1));
  if (!found) throw new TypeError('the read of refusals returned no row');
  const rows = found.matching ?? [];
  const refusals = rows.slice(0, limit).map(({ accountId, details }) => ({ ...details, accountId }));
  const last = refusals.at(-1);
  if (rows.length > limit && last) return { refusals, next: { at: last.receivedAt, requestId: last.requestId } };
  const end = found.read >= readable ? found.last : null;
  return { refusals, next: end ? { ...end, at: new Date(end.at).toISOString() } : undefined };
}

interface Found {
  /** Number of refusals that were read. */
  read: number;
  /** The last of them. */
  last: RefusalPlace | null;
  matching: { accountId: string; details: EndedRequest }[] | null;
}

function isFiltered({ projectId, keyId, model, status, code, user, tag }: RefusalFilters): boolean {
  return [projectId, keyId, model, status, code, user, tag].some((filter) => filter !== undefined);
}

function reading(filters: RefusalFilters, after: RefusalPlace | undefined, readMax: number, wanted: number): Prisma.Sql {
  const { accountId, from, to, projectId, keyId, model, status, code, order } = filters;
  const [direction, beyond, back] = (order === 'asc' ? ['ASC', '>', 'DESC'] : ['DESC', '<', 'ASC']).map((word) => Prisma.raw(word));
  const when = (value: unknown, sql: Prisma.Sql): Prisma.Sql => (value === undefined ? Prisma.empty : sql);
  const named = attributionFilters(filters).map(({ dimension, value }) =>
    value === undefined
      ? Prisma.sql`AND details -> 'attribution' -> ${dimension}::text IS NOT NULL`
      : Prisma.sql`AND details -> 'attribution' ->> ${dimension}::text = ${value}`,
  );
  return Prisma.sql`
    WITH refused AS MATERIALIZED (
      SELECT received_at, request_id, account_id, details FROM activity.request
      WHERE (details -> 'outcome') IS NULL AND (details -> 'holdId') IS NULL
        ${when(accountId, Prisma.sql`AND account_id = ${accountId}::uuid`)}
        ${from === undefined ? Prisma.empty : Prisma.sql`AND received_at >= ${new Date(from)}`}
        ${to === undefined ? Prisma.empty : Prisma.sql`AND received_at < ${new Date(to)}`}
        ${after === undefined ? Prisma.empty : Prisma.sql`AND (received_at, request_id) ${beyond} (${new Date(after.at)}, ${after.requestId})`}
      ORDER BY received_at ${direction}, request_id ${direction} LIMIT ${readMax}
    ), matching AS (
      SELECT received_at, request_id, account_id, details FROM refused WHERE true
        ${when(projectId, Prisma.sql`AND details ->> 'projectId' = ${projectId}`)}
        ${when(keyId, Prisma.sql`AND details ->> 'keyId' = ${keyId}`)}
        ${when(model, Prisma.sql`AND details ->> 'model' = ${model}`)}
        ${when(status, Prisma.sql`AND details ->> 'status' = ${String(status)}`)}
        ${when(code, Prisma.sql`AND details ->> 'code' = ${code}`)}
        ${Prisma.join([Prisma.empty, ...named], ' ')}
      ORDER BY received_at ${direction}, request_id ${direction} LIMIT ${wanted}
    )
    SELECT (SELECT count(*)::int FROM refused) AS read,
      (SELECT json_build_object('at', received_at, 'requestId', request_id)
       FROM (SELECT * FROM refused ORDER BY received_at ${back}, request_id ${back} LIMIT 1) final) AS last,
      (SELECT json_agg(json_build_object('accountId', account_id, 'details', details) ORDER BY received_at ${direction}, request_id ${direction})
       FROM matching) AS matching`;
}
