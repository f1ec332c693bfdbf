import type { RatedAccount, UsageRerateReply, UsageRerateRequest } from '#contracts/billing/rerate.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import { moment, monthAfter, monthStart } from '../journal/journal-rows.js';
import { inTransaction } from '../sql/transaction.js';
import { DETACHED_TO, USAGE_ENTRIES } from '../usage/usage-entries.js';
import { listRates, type Rates } from './rate-lists.js';
import { flatCost, summedTokenCost, sumPrompts, TOKEN_COLUMNS } from './usage-cost.js';

const ACCOUNTS_MAX = 2_000;

/**
 * Returns what the usage of a month costs each account at the prices of two catalogs, exactly: the sums of the rollups at flat prices, and from
 * the journal what those requests cost more than that to which a step, a tier or an image price applies, or that have no tokens.
 */
export function rerateMonth(connection: PgConnection, { month, prices }: UsageRerateRequest): Promise<UsageRerateReply> {
  const read = async (): Promise<UsageRerateReply> => {
    const plans = await connection.query<{ plan: string }>(`SELECT DISTINCT coalesce(price_plan, '') AS plan FROM billing.account`);
    const named = plans.rows.map(({ plan }) => plan);
    const rates = listRates(prices, named);
    if (rates.ruledModels.length > 0) await requireJournal(connection, month);
    const [state] = (await connection.query<{ closedTo: string }>('SELECT closed_to AS "closedTo" FROM billing.usage_state')).rows;
    const models = prices.models.map(({ id }) => id);
    const { rows } = await connection.query<SummedRow>(summing(rates, month, state?.closedTo ?? '0'), [
      JSON.stringify(rates.rates),
      models,
      rates.ruledModels,
    ]);
    const all = rows[0];
    return {
      accounts: rows.map(({ accountId, name, requests, chargedPicoUsd, beforePicoUsd, afterPicoUsd }) => ({
        ...{ accountId, name, requests, chargedPicoUsd, beforePicoUsd, afterPicoUsd },
      })),
      accountCount: all?.accountCount ?? 0,
      total: {
        requests: all?.allRequests ?? 0,
        chargedPicoUsd: all?.allCharged ?? '0',
        beforePicoUsd: all?.allBefore ?? '0',
        afterPicoUsd: all?.allAfter ?? '0',
      },
      imagesUnknown: all?.imagesUnknown ?? 0,
    };
  };
  return inTransaction(connection, read, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
}

interface SummedRow extends RatedAccount {
  accountCount: number;
  allRequests: number;
  allCharged: string;
  allBefore: string;
  allAfter: string;
  imagesUnknown: number;
}

/** @throws {ServiceError} `conflict` when settlements of the month, or those that its late settlements correct, are detached. */
async function requireJournal(connection: PgConnection, month: string): Promise<void> {
  const { rows } = await connection.query(`SELECT 1 WHERE ${DETACHED_TO} > ${moment(monthStart(month))} OR EXISTS (
    SELECT 1 FROM billing.late_settlement l LEFT JOIN billing.settlement s ON s.hold_id = l.hold_id
    WHERE ${within('l.settled_at', month)} AND s.hold_id IS NULL)`);
  if (rows.length > 0) {
    throw new ServiceError('conflict', 'Rows of the month are detached, and prices with steps, tiers or images need them.', 'month');
  }
}

const within = (time: string, month: string): string =>
  `${time} >= ${moment(monthStart(month))} AND ${time} < ${moment(monthStart(monthAfter(month)))}`;

const AMOUNTS = ['requests', 'cost', ...TOKEN_COLUMNS];

/**
 * Parameters: the rates as JSON, all models, and those that need the journal. What is read is materialized: else Postgres, which takes rates for
 * few, may read the month once for each.
 */
function summing(rates: Rates, month: string, closedTo: string): string {
  return `WITH rate AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (model text, price_plan text, side text,
      input_price numeric, cached_input_price numeric, cache_write_price numeric, cache_write_1h_price numeric, output_price numeric,
      request_price numeric, image_price numeric, image_bounds jsonb, price_rules jsonb)),
    used AS MATERIALIZED (SELECT account_id, model, ${AMOUNTS.map((column) => `sum(${column}) AS ${column}`).join(', ')} FROM (
        SELECT account_id, model, ${AMOUNTS.join(', ')} FROM billing.usage_day WHERE ${within('day', month)} AND model = ANY ($2)
        UNION ALL
        SELECT account_id, model, ${AMOUNTS.join(', ')} FROM ${USAGE_ENTRIES} x
        WHERE transaction_id >= ${closedTo} AND ${within('at', month)} AND model = ANY ($2)) parts GROUP BY account_id, model),
    apart AS MATERIALIZED (${rowsApart(rates, month)}),
    rated AS (
      SELECT e.account_id, side, requests, e.cost AS charged, ${flatCost('e', 'p')} + requests * coalesce(p.request_price, 0) AS rated,
        0 AS images_unknown
      FROM used e ${WITH_RATE}
      UNION ALL
      SELECT e.account_id, side, 0, 0, sign * (${extraCost(rates)}), CASE WHEN ${IMAGES_ARE_KNOWN} THEN 0 ELSE sign * billed END
      FROM apart e ${WITH_RATE}),
    accounts AS (SELECT account_id, sum(requests) FILTER (WHERE side = 'after') AS requests, sum(charged) FILTER (WHERE side = 'after') AS charged,
        sum(rated) FILTER (WHERE side = 'before') AS before, sum(rated) FILTER (WHERE side = 'after') AS after,
        greatest(sum(images_unknown) FILTER (WHERE side = 'before'), sum(images_unknown) FILTER (WHERE side = 'after')) AS images_unknown
      FROM rated GROUP BY account_id)
    SELECT account_id AS "accountId", name, requests::float8, charged::text AS "chargedPicoUsd", before::text AS "beforePicoUsd",
      after::text AS "afterPicoUsd", (count(*) OVER ())::int AS "accountCount", (sum(requests) OVER ())::float8 AS "allRequests",
      (sum(charged) OVER ())::text AS "allCharged", (sum(before) OVER ())::text AS "allBefore", (sum(after) OVER ())::text AS "allAfter",
      (sum(images_unknown) OVER ())::float8 AS "imagesUnknown"
    FROM accounts JOIN billing.account x ON x.id = account_id
    ORDER BY abs(after - before) DESC, charged DESC, account_id LIMIT ${ACCOUNTS_MAX}`;
}

/** Adds the rates `p` of the account and the model of a row `e`: one of each catalog. */
const WITH_RATE = `JOIN billing.account x ON x.id = e.account_id JOIN rate p ON p.model = e.model AND p.price_plan = coalesce(x.price_plan, '')`;

/**
 * Rows of the journal that may cost something else than as flat and billed requests, with the sign with which they count. Those that
 * the same prices apply to are added up.
 */
function rowsApart({ bounds, excessBounds, haveTiers, haveRequestPrices, haveImagePrices }: Rates, month: string): string {
  const isApart = (row: string): string =>
    [
      ...(bounds[0] === undefined ? [] : [`${row}.prompt_tokens > ${bounds[0]}`]),
      ...(haveTiers ? [`${row}.tier IS NOT NULL`] : []),
      ...(haveRequestPrices ? [`${row}.prompt_tokens = 0 AND ${row}.output_tokens = 0`] : []),
      ...(haveImagePrices ? ["s.images > 0 OR s.image_price IS NULL OR s.price_rules ? 'imageSteps'"] : []),
    ].join(' OR ') || 'false';
  const select = (sign: number, row: string, from: string, time: string): string =>
    `SELECT ${sign} AS sign, s.account_id, s.model, ${TOKEN_COLUMNS.map((column) => `${row}.${column}`).join(', ')}, ${row}.tier,
          ${images} FROM ${from} WHERE ${within(time, month)} AND s.project_id IS NOT NULL AND s.model = ANY ($3) AND (${isApart(row)})`;
  const images = haveImagePrices
    ? "s.images, s.image_price, s.price_rules -> 'imageSteps' AS image_classes"
    : 'NULL::int AS images, NULL::bigint AS image_price, NULL::jsonb AS image_classes';
  const late = 'billing.late_settlement l JOIN billing.settlement s ON s.hold_id = l.hold_id';
  const stepsReached = `width_bucket(prompt_tokens - 1, ARRAY[${bounds.join(', ')}]::int[])`;
  return `SELECT sign, account_id, model, tier, images, image_price, image_classes,
        count(*) FILTER (WHERE prompt_tokens > 0 OR output_tokens > 0) AS billed,
        count(*) FILTER (WHERE prompt_tokens = 0 AND output_tokens = 0) AS unbilled, ${sumPrompts(excessBounds)}
      FROM (${select(1, 's', 'billing.settlement s', 's.settled_at')}
        UNION ALL ${select(-1, 's', late, 'l.settled_at')}
        UNION ALL ${select(1, 'l', late, 'l.settled_at')}) entries
      GROUP BY sign, account_id, model, tier, images, image_price, image_classes, ${stepsReached}`;
}

/** True when the list has no image price, the price of the request had one of the same kind, or its number of images is zero. */
const IMAGES_ARE_KNOWN = `(e.images IS NOT DISTINCT FROM 0 AND e.image_classes IS NULL OR (p.image_price IS NULL OR e.image_price IS NOT NULL)
        AND (p.image_bounds IS NULL OR p.image_bounds IS NOT DISTINCT FROM (
          SELECT jsonb_agg(i -> 'aboveBytes' ORDER BY (i ->> 'aboveBytes')::numeric) FROM jsonb_array_elements(e.image_classes) i)))`;

/** Without classes in the list, the images of all classes cost the same. */
const IMAGE_COST = `CASE WHEN ${IMAGES_ARE_KNOWN} THEN billed * (coalesce(p.image_price * e.images, 0) + coalesce((
          SELECT sum((i ->> 'images')::numeric * CASE WHEN p.image_bounds IS NULL THEN p.image_price
            ELSE (SELECT (j ->> 'imagePicoUsd')::numeric FROM jsonb_array_elements(p.price_rules -> 'imageSteps') j
              WHERE j -> 'aboveBytes' = i -> 'aboveBytes') END)
          FROM jsonb_array_elements(e.image_classes) i), 0)) ELSE 0 END`;

/** Cost of rows above that of flat and billed requests. */
const extraCost = ({ excessBounds }: Rates): string =>
  `${summedTokenCost('e', 'p', excessBounds)} - (${flatCost('e', 'p')}) - unbilled * coalesce(p.request_price, 0) + ${IMAGE_COST}`;
