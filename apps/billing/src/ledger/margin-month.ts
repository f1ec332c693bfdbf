import type { Margin, MarginGroup, MarginRow, UsageMarginReply, UsageMarginRequest } from '#contracts/billing/margin.js';
import type { PgConnection } from '#database/pg-connection.js';
import { listCostRates } from './cost-rates.js';
import { apartCost, IMAGES_UNKNOWN, RATE_COLUMNS, readMonth, requireJournal, selectApart, selectUsed, USED_COST } from './month-usage.js';

const ROWS_MAX = 2_000;

/** The ending, because usage that was charged is apart from requests that failed. */
const KEYS = ['account_id', 'model', 'upstream', 'ending', 'day'] as const;

/** A group as text, of a row `e`. */
const GROUPS: Record<MarginGroup, string> = {
  model: 'e.model',
  account: 'e.account_id::text',
  upstream: 'e.upstream',
  day: `to_char(e.day AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
};

/**
 * Returns what the usage of a month was charged and what it cost, exactly: the sums of the rollups at flat cost prices, and from the journal what
 * those requests cost more than that to which a step, a tier, a request or an image price applies.
 */
export function marginMonth(connection: PgConnection, { month, by, costs }: UsageMarginRequest): Promise<UsageMarginReply> {
  const read = async (): Promise<UsageMarginReply> => {
    const rates = listCostRates(costs);
    if (rates.ruledModels.length > 0) await requireJournal(connection, month);
    const used = await selectUsed(connection, month, KEYS);
    const apart = selectApart(rates, month, KEYS, 's.model = ANY ($2)');
    const { rows } = await connection.query<SummedRow>(summing(by, used, apart, apartCost(rates)), [
      JSON.stringify(rates.rates),
      rates.ruledModels,
    ]);
    const [total] = rows; // the row of all groups is first
    return {
      rows: rows.slice(1).map(({ group, name, ...row }) => ({ ...renderGroup(by, group ?? '', name), ...renderMargin(row) })),
      rowCount: total?.rowCount ?? 0,
      total: total ? renderMargin(total) : NO_USAGE,
      imagesUnknown: total?.imagesUnknown ?? 0,
    };
  };
  return readMonth(connection, read);
}

interface SummedRow extends Margin {
  /** Null: all groups. */
  group: string | null;
  name: string | null;
  rowCount: number;
  imagesUnknown: number;
}

const NO_USAGE: Margin = {
  ...{ requests: 0, chargedPicoUsd: '0', costPicoUsd: '0', marginPicoUsd: '0', unpricedRequests: 0, unpricedChargedPicoUsd: '0' },
};

function renderMargin({ requests, chargedPicoUsd, costPicoUsd, marginPicoUsd, unpricedRequests, unpricedChargedPicoUsd }: Margin): Margin {
  return { requests, chargedPicoUsd, costPicoUsd, marginPicoUsd, unpricedRequests, unpricedChargedPicoUsd };
}

function renderGroup(by: MarginGroup, group: string, name: string | null): Partial<MarginRow> {
  if (by === 'account') return { accountId: group, name: name ?? '' };
  return by === 'upstream' ? { upstream: group || null } : { [by]: group };
}

/** Parameters: the rates as JSON, and the models that need the journal. What is read is materialized, as in `rerateMonth`. */
function summing(by: MarginGroup, used: string, apart: string, costApart: string): string {
  const inOrder = by === 'day' ? '"group"' : 'charged DESC, "group"';
  return `WITH rate AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (model text, upstream text, from_day date, to_day date,
      ${RATE_COLUMNS})),
    used AS MATERIALIZED (${used}),
    apart AS MATERIALIZED (${apart}),
    rated AS (
      SELECT ${GROUPS[by]} AS "group", requests, e.cost AS charged, coalesce(${USED_COST}, 0) AS cost,
        CASE WHEN p.model IS NULL AND (e.prompt_tokens <> 0 OR e.output_tokens <> 0) THEN requests ELSE 0 END AS unpriced,
        CASE WHEN p.model IS NULL THEN e.cost ELSE 0 END AS unpriced_charged, 0 AS images_unknown
      FROM used e LEFT JOIN rate p ON ${IN_FORCE}
      UNION ALL
      SELECT ${GROUPS[by]}, 0, 0, ${costApart}, 0, 0, ${IMAGES_UNKNOWN} FROM apart e JOIN rate p ON ${IN_FORCE}),
    summed AS (SELECT "group", sum(requests) AS requests, sum(charged) AS charged, sum(cost) AS cost, sum(unpriced) AS unpriced,
        sum(unpriced_charged) AS unpriced_charged, sum(images_unknown) AS images_unknown, count(DISTINCT "group") AS groups
      FROM rated GROUP BY GROUPING SETS (("group"), ()))
    SELECT "group", ${by === 'account' ? `(SELECT name FROM billing.account WHERE id = "group"::uuid)` : 'NULL'} AS name, groups::int AS "rowCount",
      requests::float8, charged::text AS "chargedPicoUsd", cost::text AS "costPicoUsd", (charged - cost)::text AS "marginPicoUsd",
      unpriced::float8 AS "unpricedRequests", unpriced_charged::text AS "unpricedChargedPicoUsd", images_unknown::float8 AS "imagesUnknown"
    FROM summed WHERE groups > 0 ORDER BY "group" IS NOT NULL, ${inOrder} LIMIT ${ROWS_MAX + 1}`;
}

/** The cost price `p` of the model, the upstream and the day of a row `e`. */
const IN_FORCE = `p.model = e.model AND p.upstream = e.upstream AND (e.day AT TIME ZONE 'UTC')::date >= p.from_day
        AND (p.to_day IS NULL OR (e.day AT TIME ZONE 'UTC')::date < p.to_day)`;
