import type { RequestListReply, RequestListRequest } from '#contracts/billing/requests.js';
import { type RequestOrder, type RequestSort, SORTED_REQUESTS_MAX } from '#contracts/rules/request-order.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { requireAccount } from '../accounts/accounts.js';
import { isId, isInteger, isMoment, parseCursor, renderCursor } from '../paging/page-cursor.js';
import { timeRange } from '../paging/time-range.js';
import { applyFilters, type Filters, LATEST_COST, renderSettled, SETTLED_ROWS, type SettledRow, type SortKey } from './settled-rows.js';

const LIMIT_DEFAULT = 100;

/**
 * Lists the ended requests of a time by a value, the largest first unless `order` says otherwise. No index has these values, so each page
 * reads the settlements of the whole time. A longer time is refused, because the largest of a part would pass for the largest of all. The
 * end of the time stays that of the first page.
 * @throws {ServiceError} `not_found` for an unknown account, `invalid_request` when the time has more than `sortMax` settlements.
 */
export async function sortRequests(
  prisma: PrismaClient,
  { limit = LIMIT_DEFAULT, cursor, from, to, sort = 'time', order = 'desc', ...request }: RequestListRequest,
  sortMax = SORTED_REQUESTS_MAX,
): Promise<RequestListReply> {
  const filters: Filters = { ...request, ...timeRange(from, to) };
  const question = ['sorted requests', filters, sort, order];
  const [end, value, settledAt, holdId] = cursor ? parseCursor(question, cursor, [isMoment, isInteger, isMoment, isId]) : [];
  const after = value && settledAt && holdId ? { value, settledAt, holdId } : undefined;
  if (!after && filters.accountId) await requireAccount(prisma, filters.accountId);
  const before = end ?? (filters.to ?? new Date()).toISOString().replace('Z', '000Z');
  const [found] = await prisma.$queryRaw<Found[]>(sorting(filters, { sort, order, before, after }, sortMax, limit + 1));
  if (!found) throw new TypeError('sorting returned no row');
  if (found.read > sortMax) throw new ServiceError('invalid_request', TOO_MANY(sortMax), 'from');
  const rows = found.matching ?? [];
  const last = rows[limit - 1];
  const hasMore = rows.length > limit && last;
  return {
    requests: rows.slice(0, limit).map(renderSettled),
    nextCursor: hasMore ? renderCursor(question, [before, last.value, last.settledAt, last.holdId]) : null,
    searchedTo: null,
  };
}

const TOO_MANY = (max: number): string =>
  `The time has more than ${max.toLocaleString('en')} requests, the most that can be sorted: choose a shorter time.`;

const SORT_KEYS: Record<RequestSort, SortKey> = {
  time: { value: microseconds(Prisma.sql`s.at`), columns: [], mayBeLate: false },
  duration: { value: microseconds(Prisma.sql`s.at - coalesce(s.reserved_at, s.at)`), columns: ['reserved_at'], mayBeLate: false },
  cost: { value: LATEST_COST, columns: ['cost'], mayBeLate: true },
  promptTokens: { value: Prisma.sql`coalesce(l.prompt_tokens, s.prompt_tokens)`, columns: ['prompt_tokens'], mayBeLate: true },
  outputTokens: { value: Prisma.sql`coalesce(l.output_tokens, s.output_tokens)`, columns: ['output_tokens'], mayBeLate: true },
};

function microseconds(time: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`extract(epoch FROM ${time}) * 1000000`;
}

interface Found {
  /** Number of settlements of the time, at most one more than may be sorted. */
  read: number;
  matching: (SettledRow & { value: string })[] | null;
}

interface Sorting {
  sort: RequestSort;
  order: RequestOrder;
  /** End of the time, excluded. */
  before: string;
  /** The last row of the page before. */
  after: { value: string; settledAt: string; holdId: string } | undefined;
}

function sorting(filters: Filters, { sort, order, before, after }: Sorting, sortMax: number, wanted: number): Prisma.Sql {
  const { accountId, from } = filters;
  const key = SORT_KEYS[sort];
  const { columns, late, conditions } = applyFilters(filters, key);
  const [direction, beyond] = order === 'asc' ? [Prisma.raw('ASC'), Prisma.raw('>')] : [Prisma.raw('DESC'), Prisma.raw('<')];
  return Prisma.sql`
    WITH read_rows AS MATERIALIZED (
      SELECT s.hold_id, s.settled_at AS at ${columns}
      FROM billing.settlement s
      WHERE s.project_id IS NOT NULL AND s.settled_at < ${before}::timestamptz
        ${accountId === undefined ? Prisma.empty : Prisma.sql`AND s.account_id = ${accountId}::uuid`}
        ${from === undefined ? Prisma.empty : Prisma.sql`AND s.settled_at >= ${from}`}
      LIMIT ${sortMax + 1}
    ), valued AS (
      SELECT s.hold_id, s.at, (${key.value})::bigint AS value FROM read_rows s ${late}
      WHERE (SELECT count(*) FROM read_rows) <= ${sortMax} ${conditions}
    ), matching AS MATERIALIZED (
      SELECT * FROM valued
      WHERE ${after ? Prisma.sql`(value, at, hold_id) ${beyond} (${after.value}::bigint, ${after.settledAt}::timestamptz, ${after.holdId}::uuid)` : Prisma.sql`true`}
      ORDER BY value ${direction}, at ${direction}, hold_id ${direction} LIMIT ${wanted}
    ), final AS (SELECT m.value::text AS value, row.* FROM matching m JOIN (${SETTLED_ROWS}) row ON row."holdId" = m.hold_id)
    SELECT (SELECT count(*)::int FROM read_rows) AS read,
      (SELECT json_agg(f ORDER BY f.value::bigint ${direction}, f."settledAt" ${direction}, f."holdId" ${direction}) FROM final f) AS matching`;
}
