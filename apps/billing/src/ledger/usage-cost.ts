/*
 * The cost of a usage in SQL, apart from the code that charges: the check I9 compares the two.
 */

/** A relation with the tokens of a usage, such as `s` for a settlement or `l` for a late one. */
type Row = string;

/** A relation with a price in the columns of a settlement. */
type List = string;

/** Cost of the usage of a row at the price of the settlement `s`: a row without tokens is not billed. */
export function usageCost(row: Row): string {
  return `${tokenCost(row, 's')}
        + CASE WHEN ${row}.prompt_tokens > 0 OR ${row}.output_tokens > 0
          THEN coalesce(s.request_price, 0) + coalesce(s.image_price::numeric * s.images, 0)
            + coalesce((SELECT sum((i ->> 'images')::numeric * (i ->> 'imagePicoUsd')::numeric)
              FROM jsonb_array_elements(s.price_rules -> 'imageSteps') i), 0) ELSE 0 END`;
}

/** Cost of the tokens of a row; or of sums of rows whose prompts, of which `size` is one, reach the same steps, none of them for an excess. */
export function tokenCost(row: Row, list: List, size = `${row}.prompt_tokens`): string {
  return `CASE WHEN ${list}.price_rules IS NULL THEN ${flatCost(row, list)} ELSE ${ruledCost(row, list, size)} END`;
}

const written = (row: Row): string => `coalesce(${row}.cache_write_tokens, 0)`;
const written1h = (row: Row): string => `coalesce(${row}.cache_write_1h_tokens, 0)`;

/** Cost of the tokens of a row, or of sums of rows, at the prices outside of steps and tiers. */
export function flatCost(row: Row, list: List): string {
  return `(${row}.prompt_tokens - ${row}.cached_tokens - ${written(row)} - ${written1h(row)})::numeric * ${list}.input_price
        + ${row}.cached_tokens::numeric * ${list}.cached_input_price + ${row}.output_tokens::numeric * ${list}.output_price
        + ${written(row)}::numeric * coalesce(${list}.cache_write_price, ${list}.input_price)
        + ${written1h(row)}::numeric * coalesce(${list}.cache_write_1h_price, ${list}.cache_write_price, ${list}.input_price)`;
}

/**
 * The prompt has stretches of tokens, each with the prices of the last step for the whole request or of a step for the excess after it. In
 * each the tokens come in the order read, written for an hour, written for 5 minutes, neither.
 */
function ruledCost(row: Row, list: List, size: string): string {
  const cached = `${row}.cached_tokens`;
  const after1h = `(${cached} + ${written1h(row)})`;
  const after5m = `(${cached} + ${written1h(row)} + ${written(row)})`;
  const tokens = (from: string, to: string): string => `greatest(least(ends, ${to}) - greatest(starts, ${from}), 0)::numeric`;
  return `(SELECT ${row}.output_tokens::numeric * coalesce(whole.step ->> 'outputPicoUsd', own.list ->> 'outputPicoUsd')::numeric
          + coalesce((SELECT sum(${tokens('0', cached)} * (prices ->> 'cachedInputPicoUsd')::numeric
              + ${tokens(cached, after1h)} * coalesce(prices ->> 'cacheWrite1hPicoUsd', prices ->> 'cacheWritePicoUsd', prices ->> 'inputPicoUsd')::numeric
              + ${tokens(after1h, after5m)} * coalesce(prices ->> 'cacheWritePicoUsd', prices ->> 'inputPicoUsd')::numeric
              + ${tokens(after5m, `${row}.prompt_tokens`)} * (prices ->> 'inputPicoUsd')::numeric)
            FROM (SELECT prices, starts, lead(starts, 1, ${row}.prompt_tokens) OVER (ORDER BY starts) AS ends
              FROM (SELECT coalesce(whole.step, own.list) AS prices, 0 AS starts
                UNION ALL
                SELECT x, (x ->> 'above')::int FROM jsonb_array_elements(own.list -> 'steps') x
                WHERE x ->> 'reprices' = 'excess' AND (x ->> 'above')::int < ${size}
                  AND (x ->> 'above')::int > coalesce((whole.step ->> 'above')::int, 0)) stretches) stretched), 0)
          FROM (SELECT coalesce((SELECT t FROM jsonb_array_elements(${list}.price_rules -> 'tiers') t WHERE t ->> 'tier' = ${row}.tier),
              jsonb_strip_nulls(jsonb_build_object('inputPicoUsd', ${list}.input_price::text, 'cachedInputPicoUsd', ${list}.cached_input_price::text,
                'cacheWritePicoUsd', ${list}.cache_write_price::text, 'cacheWrite1hPicoUsd', ${list}.cache_write_1h_price::text,
                'outputPicoUsd', ${list}.output_price::text, 'steps', ${list}.price_rules -> 'steps'))) AS list) own
          LEFT JOIN LATERAL (SELECT x AS step FROM jsonb_array_elements(own.list -> 'steps') x
            WHERE x ->> 'reprices' = 'whole' AND (x ->> 'above')::int < ${size}
            ORDER BY (x ->> 'above')::int DESC LIMIT 1) whole ON true)`;
}
