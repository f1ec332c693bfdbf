import type { RatedAccount, UsageRerateReply, UsageRerateRequest } from '#contracts/billing/rerate.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import { moment, monthAfter, monthStart } from '../journal/journal-rows.js';
import { inTransaction } from '../sql/transaction.js';
import { DETACHED_TO, USAGE_ENTRIES } from '../usage/usage-entries.js';
import { listRates, type Rates } from './rate-lists.js';
import { flatCost, tokenCost } from './usage-cost.js';

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

const COUNTS = ['prompt_tokens', 'cached_tokens', 'cache_write_tokens', 'cache_write_1h_tokens', 'output_tokens'];

/** Parameters: the rates as JSON, all models, and those that need the journal. */
function summing(rates: Rates, month: string, closedTo: string): string {
  const sums = ['requests', 'cost', ...COUNTS];
  return `WITH rate AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (model text, price_plan text, side text,
      input_price numeric, cached_input_price numeric, cache_write_price numeric, cache_write_1h_price numeric, output_price numeric,
      request_price numeric, image_price numeric, image_bounds jsonb, price_rules jsonb)),
    used AS (SELECT account_id, model, ${sums.map((column) => `sum(${column}) AS ${column}`).join(', ')} FROM (
        SELECT account_id, model, ${sums.join(', ')} FROM billing.usage_day WHERE ${within('day', month)} AND model = ANY ($2)
        UNION ALL
        SELECT account_id, model, ${sums.join(', ')} FROM ${USAGE_ENTRIES} x
        WHERE transaction_id >= ${closedTo} AND ${within('at', month)} AND model = ANY ($2)) parts GROUP BY account_id, model),
    rated AS (
      SELECT e.account_id, requests, cost AS charged, ${summedCost('b')} AS before, ${summedCost('a')} AS after, 0 AS images_unknown
      FROM used e ${WITH_RATES}
      UNION ALL
      SELECT e.account_id, 0, 0, sign * ${extraCost('b')}, sign * ${extraCost('a')},
        CASE WHEN ${IS_BILLED} AND NOT (${imagesAreKnown('b')} AND ${imagesAreKnown('a')}) THEN sign ELSE 0 END
      FROM ${entriesApart(rates, month)} e ${WITH_RATES}),
    accounts AS (SELECT account_id, sum(requests) AS requests, sum(charged) AS charged, sum(before) AS before, sum(after) AS after,
        sum(images_unknown) AS images_unknown FROM rated GROUP BY account_id)
    SELECT account_id AS "accountId", name, requests::float8, charged::text AS "chargedPicoUsd", before::text AS "beforePicoUsd",
      after::text AS "afterPicoUsd", (count(*) OVER ())::int AS "accountCount", (sum(requests) OVER ())::float8 AS "allRequests",
      (sum(charged) OVER ())::text AS "allCharged", (sum(before) OVER ())::text AS "allBefore", (sum(after) OVER ())::text AS "allAfter",
      (sum(images_unknown) OVER ())::float8 AS "imagesUnknown"
    FROM accounts JOIN billing.account x ON x.id = account_id
    ORDER BY abs(after - before) DESC, charged DESC, account_id LIMIT ${ACCOUNTS_MAX}`;
}

/** Adds the rates before (`b`) and after (`a`) of the account and the model of a row `e`. */
const WITH_RATES = `JOIN billing.account x ON x.id = e.account_id
      JOIN rate b ON b.model = e.model AND b.price_plan = coalesce(x.price_plan, '') AND b.side = 'before'
      JOIN rate a ON a.model = e.model AND a.price_plan = coalesce(x.price_plan, '') AND a.side = 'after'`;

/** Cost of sums, as if each request were billed and flat. */
function summedCost(list: string): string {
  return `${flatCost('e', list)} + requests * coalesce(${list}.request_price, 0)`;
}

/** Rows of the journal that may cost something else, with the sign with which they count; their time is that of `USAGE_ENTRIES`. */
function entriesApart({ stepAbove, haveTiers, haveRequestPrices, haveImagePrices }: Rates, month: string): string {
  const isApart = (row: string): string =>
    [
      `${row}.prompt_tokens > ${stepAbove}`,
      ...(haveTiers ? [`${row}.tier IS NOT NULL`] : []),
      ...(haveRequestPrices ? [`${row}.prompt_tokens = 0 AND ${row}.output_tokens = 0`] : []),
      ...(haveImagePrices ? ["s.images > 0 OR s.image_price IS NULL OR s.price_rules ? 'imageSteps'"] : []),
    ].join(' OR ');
  const select = (sign: number, row: string, from: string, time: string): string =>
    `SELECT ${sign} AS sign, s.account_id, s.model, ${COUNTS.map((column) => `${row}.${column}`).join(', ')}, ${row}.tier, s.images,
          s.image_price, s.price_rules -> 'imageSteps' AS image_classes
        FROM ${from} WHERE ${within(time, month)} AND s.project_id IS NOT NULL AND s.model = ANY ($3) AND (${isApart(row)})`;
  const late = 'billing.late_settlement l JOIN billing.settlement s ON s.hold_id = l.hold_id';
  return `(${select(1, 's', 'billing.settlement s', 's.settled_at')}
        UNION ALL ${select(-1, 's', late, 'l.settled_at')}
        UNION ALL ${select(1, 'l', late, 'l.settled_at')})`;
}

const IS_BILLED = '(e.prompt_tokens > 0 OR e.output_tokens > 0)';

/** Cost of a row above what `summedCost` counts for it. */
function extraCost(list: string): string {
  return `(${tokenCost('e', list)} - (${flatCost('e', list)})
        + CASE WHEN ${IS_BILLED} THEN ${imageCost(list)} ELSE -coalesce(${list}.request_price, 0) END)`;
}

/** Without classes in the list, the images of all classes cost the same. */
function imageCost(list: string): string {
  return `CASE WHEN ${imagesAreKnown(list)} THEN coalesce(${list}.image_price * e.images, 0) + coalesce((
          SELECT sum((i ->> 'images')::numeric * CASE WHEN ${list}.image_bounds IS NULL THEN ${list}.image_price
            ELSE (SELECT (j ->> 'imagePicoUsd')::numeric FROM jsonb_array_elements(${list}.price_rules -> 'imageSteps') j
              WHERE j -> 'aboveBytes' = i -> 'aboveBytes') END)
          FROM jsonb_array_elements(e.image_classes) i), 0) ELSE 0 END`;
}

/** True when the list has no image price, the price of the request had one of the same kind, or its number of images is zero. */
function imagesAreKnown(list: string): string {
  return `(e.images IS NOT DISTINCT FROM 0 AND e.image_classes IS NULL OR (${list}.image_price IS NULL OR e.image_price IS NOT NULL) AND (${list}.image_bounds IS NULL OR ${list}.image_bounds
          IS NOT DISTINCT FROM (SELECT jsonb_agg(i -> 'aboveBytes' ORDER BY (i ->> 'aboveBytes')::numeric)
            FROM jsonb_array_elements(e.image_classes) i)))`;
}
