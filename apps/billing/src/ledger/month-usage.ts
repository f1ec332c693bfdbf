import { ServiceError } from '#contracts/service-error.js';
import type { PgConnection } from '#database/pg-connection.js';
import { moment, monthAfter, monthStart } from '../journal/journal-rows.js';
import { inTransaction } from '../sql/transaction.js';
import { DETACHED_TO, LATE_SETTLEMENTS, USAGE_ENTRIES } from '../usage/usage-entries.js';
import type { RateRules } from './rates.js';
import { flatCost, summedTokenCost, sumPrompts, TOKEN_COLUMNS } from './usage-cost.js';

/*
 * The usage of a month at other prices than it was charged at, as relations of SQL: its sums, which are enough for flat prices, and the rows of
 * the journal that cost something else than these say. The relation of prices is `p`, with `RATE_COLUMNS`.
 */

/** Columns that usage is summed by. `day` is its start in UTC. */
export type UsageKey = 'account_id' | 'model' | 'upstream' | 'ending' | 'day';

/** Columns of a price that was sent as JSON. `image_bounds` are those of its image classes. */
export const RATE_COLUMNS = `input_price numeric, cached_input_price numeric, cache_write_price numeric, cache_write_1h_price numeric,
      output_price numeric, request_price numeric, image_price numeric, image_bounds jsonb, price_rules jsonb`;

const AMOUNTS = ['requests', 'cost', ...TOKEN_COLUMNS];

const DAY_OF = (time: string): string => `date_trunc('day', ${time}, 'UTC')`;

/** Returns the usage of the month that meets a condition, with the sums of `AMOUNTS`, by these keys. */
export async function selectUsed(connection: PgConnection, month: string, keys: readonly UsageKey[], condition = 'true'): Promise<string> {
  const { rows } = await connection.query<{ closedTo: string }>('SELECT closed_to AS "closedTo" FROM billing.usage_state');
  const select = (from: string, time: string, day: string): string =>
    `SELECT ${keys.map((key) => (key === 'day' ? `${day} AS day` : key)).join(', ')}, ${AMOUNTS.join(', ')} FROM ${from}
        WHERE ${within(time, month)} AND ${condition}`;
  return `SELECT ${keys.join(', ')}, ${AMOUNTS.map((column) => `sum(${column}) AS ${column}`).join(', ')} FROM (
        ${select('billing.usage_day', 'day', 'day')}
        UNION ALL
        ${select(`${USAGE_ENTRIES} x`, 'at', DAY_OF('at'))} AND transaction_id >= ${rows[0]?.closedTo ?? '0'}) parts GROUP BY ${keys.join(', ')}`;
}

/** Cost of a row `e` of `selectUsed` at flat prices, as if all of its requests were billed. */
export const USED_COST = `${flatCost('e', 'p')} + requests * coalesce(p.request_price, 0)`;

/**
 * Reads the usage of a month in one snapshot. Its rows fall into few groups, which Postgres does not foresee: it would sort them on disk to add
 * them up, and takes two thirds of the time with a hash table.
 */
export function readMonth<Result>(connection: PgConnection, read: () => Promise<Result>): Promise<Result> {
  const work = async (): Promise<Result> => {
    await connection.query('SET LOCAL enable_sort = off');
    return read();
  };
  return inTransaction(connection, work, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
}

/** @throws {ServiceError} `conflict` when settlements of the month, or those that its late settlements correct, are detached. */
export async function requireJournal(connection: PgConnection, month: string): Promise<void> {
  const { rows } = await connection.query(`SELECT 1 WHERE ${DETACHED_TO} > ${moment(monthStart(month))} OR EXISTS (
    SELECT 1 FROM billing.late_settlement l LEFT JOIN billing.settlement s ON s.hold_id = l.hold_id
    WHERE ${within('l.settled_at', month)} AND s.hold_id IS NULL)`);
  if (rows.length > 0) {
    throw new ServiceError('conflict', 'Rows of the month are detached, and prices with steps, tiers or images need them.', 'month');
  }
}

const within = (time: string, month: string): string =>
  `${time} >= ${moment(monthStart(month))} AND ${time} < ${moment(monthStart(monthAfter(month)))}`;

/**
 * Returns the rows of the journal that meet a condition and may cost something else than as flat and billed requests, with the sign with which
 * they count. Those that the same prices apply to are added up.
 */
export function selectApart(rules: RateRules, month: string, keys: readonly UsageKey[], condition: string): string {
  const { bounds, excessBounds, haveTiers, haveRequestPrices, haveImagePrices } = rules;
  const isApart = (row: string): string =>
    [
      ...(bounds[0] === undefined ? [] : [`${row}.prompt_tokens > ${bounds[0]}`]),
      ...(haveTiers ? [`${row}.tier IS NOT NULL`] : []),
      ...(haveRequestPrices ? [`${row}.prompt_tokens = 0 AND ${row}.output_tokens = 0`] : []),
      ...(haveImagePrices ? ["s.images > 0 OR s.image_price IS NULL OR s.price_rules ? 'imageSteps'"] : []),
    ].join(' OR ') || 'false';
  const select = (sign: number, row: string, from: string, time: string): string => {
    const columns = { account_id: 's.account_id', model: 's.model', upstream: `coalesce(${row}.upstream, '')`, ending: `${row}.reason`, day: DAY_OF(time) }; // biome-ignore format: one line
    return `SELECT ${sign} AS sign, ${keys.map((key) => `${columns[key]} AS ${key}`).join(', ')},
          ${TOKEN_COLUMNS.map((column) => `${row}.${column}`).join(', ')}, ${row}.tier,
          ${images} FROM ${from} WHERE ${within(time, month)} AND s.project_id IS NOT NULL AND ${condition} AND (${isApart(row)})`;
  };
  const images = haveImagePrices
    ? "s.images, s.image_price, s.price_rules -> 'imageSteps' AS image_classes"
    : 'NULL::int AS images, NULL::bigint AS image_price, NULL::jsonb AS image_classes';
  const stepsReached = `width_bucket(prompt_tokens - 1, ARRAY[${bounds.join(', ')}]::int[])`;
  const same = ['sign', ...keys, 'tier', 'images', 'image_price', 'image_classes'].join(', ');
  return `SELECT ${same}, count(*) FILTER (WHERE prompt_tokens > 0 OR output_tokens > 0) AS billed,
        count(*) FILTER (WHERE prompt_tokens = 0 AND output_tokens = 0) AS unbilled, ${sumPrompts(excessBounds)}
      FROM (${select(1, 's', 'billing.settlement s', 's.settled_at')}
        UNION ALL ${select(-1, 's', LATE_SETTLEMENTS, 'l.settled_at')}
        UNION ALL ${select(1, 'l', LATE_SETTLEMENTS, 'l.settled_at')}) entries
      GROUP BY ${same}, ${stepsReached}`;
}

/** True when the list has no image price, the price of the request had one of the same kind, or its number of images is zero. */
const IMAGES_ARE_KNOWN = `(e.images IS NOT DISTINCT FROM 0 AND e.image_classes IS NULL OR (p.image_price IS NULL OR e.image_price IS NOT NULL)
        AND (p.image_bounds IS NULL OR p.image_bounds IS NOT DISTINCT FROM (
          SELECT jsonb_agg(i -> 'aboveBytes' ORDER BY (i ->> 'aboveBytes')::numeric) FROM jsonb_array_elements(e.image_classes) i)))`;

/** Requests of a row `e` of `selectApart` whose number of images the journal does not have. */
export const IMAGES_UNKNOWN = `CASE WHEN ${IMAGES_ARE_KNOWN} THEN 0 ELSE sign * billed END`;

/** Without classes in the list, the images of all classes cost the same. */
const IMAGE_COST = `CASE WHEN ${IMAGES_ARE_KNOWN} THEN billed * (coalesce(p.image_price * e.images, 0) + coalesce((
          SELECT sum((i ->> 'images')::numeric * CASE WHEN p.image_bounds IS NULL THEN p.image_price
            ELSE (SELECT (j ->> 'imagePicoUsd')::numeric FROM jsonb_array_elements(p.price_rules -> 'imageSteps') j
              WHERE j -> 'aboveBytes' = i -> 'aboveBytes') END)
          FROM jsonb_array_elements(e.image_classes) i), 0)) ELSE 0 END`;

/** Returns the cost of a row `e` of `selectApart` above `USED_COST`. */
export function apartCost({ excessBounds }: RateRules): string {
  return `sign * (${summedTokenCost('e', 'p', excessBounds)} - (${flatCost('e', 'p')}) - unbilled * coalesce(p.request_price, 0) + ${IMAGE_COST})`;
}
