import { type ReceiptLine, renderLine } from '#receipts/receipt-lines.js';
import { moment } from './journal-rows.js';
import type { MonthRows, Query } from './month-files.js';

/** Place of a receipt among those of its account: in the order of time, a settlement before its late one. */
export interface ReceiptPlace {
  /** In microseconds. */
  at: string;
  holdId: string;
  late: boolean;
}

/** A settlement or a late settlement, with what its settlement says of the request. Amounts are texts. */
export interface ReceiptRow extends ReceiptPlace {
  accountId: string;
  projectId: string;
  keyId: string;
  requestId: string;
  model: string;
  reason: string;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number | null;
  cacheWrite1hTokens: number | null;
  outputTokens: number;
  reasoningTokens: number;
  quantity: number | null;
  images: number | null;
  tier: string | null;
  priceStep: number | null;
  priceVersion: number;
  pricePlan: string | null;
  inputPrice: string;
  cachedInputPrice: string;
  outputPrice: string;
  requestPrice: string | null;
  imagePrice: string | null;
  cacheWritePrice: string | null;
  cacheWrite1hPrice: string | null;
  priceRules: string | null;
  transactionId: string;
  amount: string;
}

/** The form of a receipt never changes: the roots of closed months cover it. */
export function renderReceipt(row: ReceiptRow): string {
  return renderLine<ReceiptLine>({
    type: 'receipt',
    kind: row.late ? 'late-settlement' : 'settlement',
    request_id: row.requestId,
    hold_id: row.holdId,
    account_id: row.accountId,
    project_id: row.projectId,
    key_id: row.keyId,
    settled_at: row.at,
    model: row.model,
    ending: row.reason,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    ...optional('cache_write_tokens', row.cacheWriteTokens),
    ...optional('cache_write_1h_tokens', row.cacheWrite1hTokens),
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoningTokens,
    ...optional('units', row.quantity),
    ...optional('images', row.images),
    ...optional('tier', row.tier),
    ...optional('price_step', row.priceStep),
    price_version: row.priceVersion,
    ...optional('price_plan', row.pricePlan),
    price: {
      input_pico_usd: row.inputPrice,
      cached_input_pico_usd: row.cachedInputPrice,
      output_pico_usd: row.outputPrice,
      ...optional('request_pico_usd', row.requestPrice),
      ...optional('image_pico_usd', row.imagePrice),
      ...optional('cache_write_pico_usd', row.cacheWritePrice),
      ...optional('cache_write_1h_pico_usd', row.cacheWrite1hPrice),
      ...(row.priceRules !== null && { rules: JSON.parse(row.priceRules) as unknown }),
    },
    amount_pico_usd: row.amount,
  });
}

function optional<Name extends string, Value>(name: Name, value: Value | null): Partial<Record<Name, Value>> {
  return value === null ? {} : ({ [name]: value } as Record<Name, Value>);
}

/** Columns of a settlement `s` and of the row `x`, which is the settlement itself or its late one. */
const COLUMNS = `x.settled_at, x.hold_id, x.account_id AS "accountId", s.project_id AS "projectId", s.key_id AS "keyId",
    s.request_id AS "requestId", s.model, x.reason, x.prompt_tokens AS "promptTokens", x.cached_tokens AS "cachedTokens",
    x.cache_write_tokens AS "cacheWriteTokens", x.cache_write_1h_tokens AS "cacheWrite1hTokens", x.output_tokens AS "outputTokens",
    x.reasoning_tokens AS "reasoningTokens", x.quantity, s.images, x.tier, x.price_step AS "priceStep", s.price_version AS "priceVersion",
    s.price_plan AS "pricePlan", s.input_price::text AS "inputPrice", s.cached_input_price::text AS "cachedInputPrice",
    s.output_price::text AS "outputPrice", s.request_price::text AS "requestPrice", s.image_price::text AS "imagePrice",
    s.cache_write_price::text AS "cacheWritePrice", s.cache_write_1h_price::text AS "cacheWrite1hPrice", s.price_rules::text AS "priceRules",
    x.transaction_id::text AS "transactionId"`;

/** Reads receipts in their order, `after` a place or `from` it on. `condition` is on columns of both journals; a tombstone is no request and has no receipt. */
export async function readReceipts(
  query: Query,
  { condition, after, from, limit }: { condition: string; after?: ReceiptPlace | undefined; from?: ReceiptPlace; limit: number },
): Promise<ReceiptRow[]> {
  const place = after ?? from;
  const compared = after ? '>' : '>=';
  const rows = (late: boolean): string =>
    `(SELECT * FROM billing.${late ? 'late_settlement' : 'settlement'} WHERE ${condition}${
      place
        ? ` AND settled_at >= $1::timestamptz AND (settled_at, hold_id, ${late}) ${compared} ($1::timestamptz, $2::uuid, ${place.late})`
        : ''
    })`;
  return query<ReceiptRow>(
    `SELECT to_char(settled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at, hold_id::text AS "holdId", r.* FROM (
      SELECT ${COLUMNS}, x.cost::text AS amount, false AS late FROM ${rows(false)} x CROSS JOIN LATERAL (SELECT x.*) s WHERE x.project_id IS NOT NULL
      UNION ALL
      SELECT ${COLUMNS}, (x.due - x.writeoff)::text AS amount, true AS late FROM ${rows(true)} x
        JOIN billing.settlement s ON s.hold_id = x.hold_id
    ) r ORDER BY settled_at, hold_id, late LIMIT ${limit}`,
    place ? [place.at, place.holdId] : [],
  );
}

/**
 * Condition on the rows of an account's month from a place on. The place is never after the first row, so that the index on account and time is
 * read from there: rows of a clock that was set back may be before the month.
 */
export function accountCondition({ start, range: { after, to } }: MonthRows, accountId: string, firstAt: string): string {
  const added = after ? ` AND (settled_at >= ${moment(start)} OR transaction_id >= ${after.transactionEnd})` : '';
  return `account_id = '${accountId}' AND settled_at >= '${firstAt}'::timestamptz AND settled_at < ${moment(to.at)}
    AND transaction_id < ${to.transactionEnd}${added}`;
}
