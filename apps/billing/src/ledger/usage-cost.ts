/*
 * The cost of a usage in SQL, apart from the code that charges: the check I9 compares the two.
 */

/** A relation with the tokens of a usage, such as `s` for a settlement or `l` for a late one. */
type Row = string;

/** A relation with a price in the columns of a settlement. */
type List = string;

/** Cost of the usage of a row at the price of the settlement `s`: a row without tokens is not billed. Each unit of an item costs the price of a request. */
export function usageCost(row: Row): string {
  return `${tokenCost(row, 's')} + coalesce(${row}.quantity::numeric * s.request_price, 0)
        + CASE WHEN ${row}.prompt_tokens > 0 OR ${row}.output_tokens > 0
          THEN coalesce(s.request_price, 0) + coalesce(s.image_price::numeric * s.images, 0)
            + coalesce((SELECT sum((i ->> 'images')::numeric * (i ->> 'imagePicoUsd')::numeric)
              FROM jsonb_array_elements(s.price_rules -> 'imageSteps') i), 0) ELSE 0 END`;
}

/** Cost of the tokens of a row. */
function tokenCost(row: Row, list: List): string {
  const size = `${row}.prompt_tokens`;
  return priced(row, list, { size, within: (end, at) => `least(${PROMPT_ENDS[end](row)}, ${at})` });
}

/** Cost of the tokens of rows that were added up with `sumPrompts`, at a list whose steps for an excess have some of the `bounds`. */
export function summedTokenCost(row: Row, list: List, bounds: readonly number[]): string {
  const position = (at: string): string => `array_position(ARRAY[${[0, ...bounds].join(', ')}], ${at})`;
  return priced(row, list, {
    size: `${row}.size`,
    within: (end, at) => `coalesce(${row}.${end}_within[${position(at)}], ${PROMPT_ENDS[end](row)})`,
  });
}

/**
 * Columns that add up `entries` whose prompts reach the same steps: the size of one, their tokens, and for each end of a part how many tokens
 * before it are among the first of a prompt, zero first and then as many as each of the `bounds`. The cost is linear in these.
 */
export function sumPrompts(bounds: readonly number[]): string {
  const within = (end: string): string => `ARRAY[${['0::bigint', ...bounds.map((bound) => `sum(least(${end}, ${bound}))`)].join(', ')}]`;
  const ends = Object.entries(PROMPT_ENDS).map(([name, end]) => `${within(end('entries'))} AS ${name}_within`);
  return ['max(prompt_tokens) AS size', ...TOKEN_COLUMNS.map((column) => `sum(${column}) AS ${column}`), ...ends].join(', ');
}

export const TOKEN_COLUMNS = ['prompt_tokens', 'cached_tokens', 'cache_write_tokens', 'cache_write_1h_tokens', 'output_tokens'];

const written = (row: Row): string => `coalesce(${row}.cache_write_tokens, 0)`;
const written1h = (row: Row): string => `coalesce(${row}.cache_write_1h_tokens, 0)`;

/** Cost of the tokens of a row, or of sums of rows, at the prices outside of steps and tiers. */
export function flatCost(row: Row, list: List): string {
  return `(${row}.prompt_tokens - ${row}.cached_tokens - ${written(row)} - ${written1h(row)})::numeric * ${list}.input_price
        + ${row}.cached_tokens::numeric * ${list}.cached_input_price + ${row}.output_tokens::numeric * ${list}.output_price
        + ${written(row)}::numeric * coalesce(${list}.cache_write_price, ${list}.input_price)
        + ${written1h(row)}::numeric * coalesce(${list}.cache_write_1h_price, ${list}.cache_write_price, ${list}.input_price)`;
}

/** Ends of the parts of a prompt, in their order: what was read from a cache, written for an hour, written for 5 minutes, and neither. */
const PROMPT_ENDS = {
  read: (row: Row) => `${row}.cached_tokens`,
  written_1h: (row: Row) => `(${row}.cached_tokens + ${written1h(row)})`,
  written: (row: Row) => `(${row}.cached_tokens + ${written1h(row)} + ${written(row)})`,
  prompt: (row: Row) => `${row}.prompt_tokens`,
};

interface Prompt {
  /** Tokens that decide which steps are reached. */
  size: string;
  /** Tokens before an end of a part that are among the first `at` of the prompt; among all when `at` is null. */
  within: (end: keyof typeof PROMPT_ENDS, at: string) => string;
}

function priced(row: Row, list: List, prompt: Prompt): string {
  return `CASE WHEN ${list}.price_rules IS NULL THEN ${flatCost(row, list)} ELSE ${ruledCost(row, list, prompt)} END`;
}

/**
 * The prompt has stretches of tokens, each with the prices of the last step for the whole request or of a step for the excess after it. In
 * each the tokens of a part are those before its end less those before the end of the part before. The last stretch has no end.
 */
function ruledCost(row: Row, list: List, { size, within }: Prompt): string {
  const upTo = (end: keyof typeof PROMPT_ENDS): string => `(${within(end, 'ends')} - ${within(end, 'starts')})::numeric`;
  return `(SELECT ${row}.output_tokens::numeric * coalesce(whole.step ->> 'outputPicoUsd', own.list ->> 'outputPicoUsd')::numeric
          + coalesce((SELECT sum(${upTo('read')} * (prices ->> 'cachedInputPicoUsd')::numeric
              + (${upTo('written_1h')} - ${upTo('read')})
                * coalesce(prices ->> 'cacheWrite1hPicoUsd', prices ->> 'cacheWritePicoUsd', prices ->> 'inputPicoUsd')::numeric
              + (${upTo('written')} - ${upTo('written_1h')}) * coalesce(prices ->> 'cacheWritePicoUsd', prices ->> 'inputPicoUsd')::numeric
              + (${upTo('prompt')} - ${upTo('written')}) * (prices ->> 'inputPicoUsd')::numeric)
            FROM (SELECT prices, starts, lead(starts) OVER (ORDER BY starts) AS ends
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
