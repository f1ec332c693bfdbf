import { readTraceId } from '#tracing/trace-context.js';
import type { Columns } from '../sql/statement.js';
import type { BatchRows, LateSettlement, OpenedHold, Settlement } from './batch.js';

/** Columns of a hold that its settlement keeps. */
export const KEPT: Columns<OpenedHold> = {
  account_id: ['uuid', ({ reserve }) => reserve.accountId],
  project_id: ['uuid', ({ reserve }) => reserve.projectId],
  key_id: ['uuid', ({ reserve }) => reserve.keyId],
  request_id: ['text', ({ reserve }) => reserve.requestId],
  model: ['text', ({ reserve }) => reserve.model],
  grant_id: ['uuid', (row) => row.grantId],
  price_version: ['int4', ({ reserve }) => reserve.price.version],
  input_price: ['int8', ({ reserve }) => reserve.price.inputPicoUsd],
  cached_input_price: ['int8', ({ reserve }) => reserve.price.cachedInputPicoUsd],
  output_price: ['int8', ({ reserve }) => reserve.price.outputPicoUsd],
  trace_id: ['uuid', ({ reserve: { traceparent } }) => (traceparent === undefined ? null : readTraceId({ traceparent }))],
  attribution: ['jsonb', ({ reserve: { attribution = {} } }) => unlessEmpty(attribution)],
};

/** Parts of a price that few models have. The settlement keeps them too. */
export const KEPT_RARELY: Columns<OpenedHold> = {
  price_plan: ['text', ({ reserve }) => reserve.price.pricePlan],
  request_price: ['int8', ({ reserve }) => reserve.price.requestPicoUsd],
  image_price: ['int8', ({ reserve }) => reserve.price.imagePicoUsd],
  images: ['int4', ({ reserve: { price } }) => (price.imagePicoUsd === undefined ? null : (price.images ?? 0))],
  cache_write_price: ['int8', ({ reserve }) => reserve.price.cacheWritePicoUsd],
  cache_write_1h_price: ['int8', ({ reserve }) => reserve.price.cacheWrite1hPicoUsd],
};

export const OPENED: Columns<OpenedHold> = {
  id: ['uuid', ({ reserve }) => reserve.holdId],
  amount: ['int8', ({ reserve }) => reserve.amountPicoUsd],
  plan_part: ['int8', (row) => row.planPart],
  lease_until: ['timestamptz', (row) => new Date(row.leaseUntil).toISOString()],
  amount_tokens: ['int8', ({ reserve }) => reserve.amountTokens],
  ...KEPT,
};

/** A hold counts towards a limit of tokens, or its price has a rare part. */
export const OPENED_RARELY: Columns<OpenedHold> = { tokens: ['int8', (row) => row.tokens], ...KEPT_RARELY };

/** Counts of a settlement, and with a prefix of a meter reading. */
export const TOKENS: Columns<Pick<Settlement, 'usage'>> = {
  prompt_tokens: ['int4', ({ usage }) => usage.promptTokens],
  cached_tokens: ['int4', ({ usage }) => usage.cachedTokens],
  output_tokens: ['int4', ({ usage }) => usage.outputTokens],
  reasoning_tokens: ['int4', ({ usage }) => usage.reasoningTokens],
};

const USAGE: Columns<Pick<Settlement, 'usage' | 'metered'>> = {
  ...TOKENS,
  prompt_source: ['text', ({ usage, metered }) => (metered ? usage.promptSource : null)],
  output_source: ['text', ({ usage, metered }) => (metered ? usage.outputSource : null)],
};

export const SETTLED: Columns<Settlement> = {
  hold_id: ['uuid', (row) => row.holdId],
  reason: ['text', (row) => row.reason],
  upstream: ['text', (row) => row.upstream],
  cost: ['int8', (row) => row.cost],
  over: ['numeric', (row) => row.over],
  plan_cost: ['int8', ({ charge }) => charge.planCost],
  live_grant_id: ['uuid', ({ charge }) => charge.liveGrantId],
  ended_cost: ['int8', ({ charge }) => charge.endedCost],
  forfeit: ['int8', ({ charge }) => charge.forfeit],
  topup_cost: ['int8', ({ charge }) => charge.topupCost],
  settled_by: ['text', (row) => row.settledBy],
  ...USAGE,
};

/** The upstream has written to a cache. Null: it has not. */
export const SETTLED_RARELY: Columns<Pick<Settlement, 'usage'>> = {
  cache_write_tokens: ['int4', ({ usage }) => usage.cacheWriteTokens || null],
  cache_write_1h_tokens: ['int4', ({ usage }) => usage.cacheWrite1hTokens || null],
};

export const SETTLED_LATE: Columns<LateSettlement> = {
  hold_id: ['uuid', ({ settle }) => settle.holdId],
  account_id: ['uuid', ({ hold }) => hold.accountId],
  reason: ['text', ({ settle }) => settle.reason],
  upstream: ['text', ({ settle }) => settle.upstream],
  held: ['int8', ({ hold }) => hold.amount],
  billed: ['int8', ({ hold }) => hold.billed],
  due: ['int8', (row) => row.due],
  over: ['numeric', (row) => row.over],
  plan_cost: ['int8', ({ charge }) => charge.planCost],
  live_grant_id: ['uuid', ({ charge }) => charge.liveGrantId],
  topup_cost: ['int8', ({ charge }) => charge.topupCost],
  writeoff: ['int8', ({ charge }) => charge.writeoff],
  forfeit: ['int8', ({ charge }) => charge.forfeit],
  settled_by: ['text', ({ settle }) => settle.settledBy],
  ...USAGE,
  ...SETTLED_RARELY,
};

/** True when a row has a value in one of the columns that only some batches have. Other batches need fewer parameters. */
export function hasRareColumns({ opened, settled }: Pick<BatchRows, 'opened' | 'settled'>): boolean {
  return opened.some(hasOneOf(OPENED_RARELY)) || settled.some(hasOneOf(SETTLED_RARELY));
}

function hasOneOf<Row>(columns: Columns<Row>): (row: Row) => boolean {
  const all = Object.values(columns);
  return (row) => all.some(([, read]) => (read(row) ?? null) !== null);
}

function unlessEmpty(attribution: object): object | null {
  for (const _ in attribution) return attribution;
  return null;
}
