import type { LedgerLossesReply, LedgerLossesRequest, LossRow, LossSums } from '#contracts/billing/ledger.js';
import { ServiceError } from '#contracts/service-error.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { checkedRange, tooMuch } from '../usage/query-usage.js';
import { LATE_SETTLEMENTS } from '../usage/usage-entries.js';
import { inUsageSnapshot } from '../usage/usage-snapshot.js';

const ROWS_MAX = 1_000;

/**
 * Sums what requests cost at the price of their holds and did not pay, exactly: `over` and `writeoff` of the journals, of which I9 checks that
 * with the charge they are the price of the usage.
 *
 * @throws {ServiceError} `invalid_request` for a field, and when settlements of the time are detached.
 */
export async function listLosses(prisma: PrismaClient, request: LedgerLossesRequest, now = new Date()): Promise<LedgerLossesReply> {
  const { from, to = now } = checkedRange(request);
  const rows = await inUsageSnapshot(prisma, async (snapshot, { detachedTo }) => {
    if (detachedTo && from < detachedTo) {
      throw new ServiceError('invalid_request', `Requests before ${detachedTo.toISOString()} are detached: ask from then on.`, 'from');
    }
    return await snapshot.$queryRaw<SummedRow[]>(summing(from, to));
  }).catch(tooMuch);
  const [all] = rows;
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    rows: rows.map(({ rowCount: _, total: __, ...row }) => row),
    rowCount: all?.rowCount ?? 0,
    total: all?.total ?? { requests: 0, usagePicoUsd: '0', chargedPicoUsd: '0', overPicoUsd: '0', writtenOffPicoUsd: '0' },
  };
}

type SummedRow = LossRow & { rowCount: number; total: LossSums };

function summing(from: Date, to: Date): Prisma.Sql {
  const within = (time: string): Prisma.Sql => Prisma.sql`${Prisma.raw(time)} >= ${from} AND ${Prisma.raw(time)} < ${to}`;
  const late = Prisma.raw(LATE_SETTLEMENTS);
  return Prisma.sql`WITH lost AS (
      SELECT s.settled_at AS at, s.model, s.upstream, s.reason, 1 AS requests, s.cost AS charged, s.over, 0 AS written_off
      FROM billing.settlement s WHERE s.over > 0 AND ${within('s.settled_at')}
      UNION ALL
      SELECT l.settled_at, s.model, s.upstream, s.reason, -1, -s.cost, -s.over, 0 FROM ${late} WHERE s.over > 0 AND ${within('l.settled_at')}
      UNION ALL
      SELECT l.settled_at, s.model, l.upstream, l.reason, 1, l.billed + l.due - l.writeoff, l.over, l.writeoff
      FROM ${late} WHERE (l.over > 0 OR l.writeoff > 0) AND ${within('l.settled_at')}),
    summed AS (
      SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model, upstream, reason, sum(requests) AS requests, sum(charged) AS charged,
        sum(over) AS over, sum(written_off) AS written_off
      FROM lost GROUP BY day, model, upstream, reason HAVING sum(requests) <> 0 OR sum(over) <> 0)
    SELECT day, model, upstream, reason, ${RENDERED}, (count(*) OVER ())::int AS "rowCount", ${TOTAL} AS total FROM summed
    ORDER BY over + written_off DESC, day, model, upstream, reason LIMIT ${ROWS_MAX}`;
}

/** By the fields of `LossSums`. Money is text. */
const SUMS: Record<keyof LossSums, (sum: (column: string) => string) => string> = {
  requests: (sum) => `${sum('requests')}::float8`,
  usagePicoUsd: (sum) => `(${sum('charged')} + ${sum('over')} + ${sum('written_off')})::text`,
  chargedPicoUsd: (sum) => `${sum('charged')}::text`,
  overPicoUsd: (sum) => `${sum('over')}::text`,
  writtenOffPicoUsd: (sum) => `${sum('written_off')}::text`,
};

const entries = Object.entries(SUMS);
const RENDERED = Prisma.raw(entries.map(([name, sql]) => `${sql((column) => column)} AS "${name}"`).join(', '));
const TOTAL = Prisma.raw(
  `json_build_object(${entries.map(([name, sql]) => `'${name}', ${sql((column) => `sum(${column}) OVER ()`)}`).join(', ')})`,
);
