import type { Attribution } from '#contracts/billing/attribution.js';
import { ESTIMATED_SOURCES } from '#contracts/billing/holds.js';
import type { OutputSource, PromptSource } from '#inference/usage.js';
import type { Price } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { type FundsRow, toFunds } from '../balance/funds.js';
import { selectRoot } from '../payer/key-roots.js';
import type { AccountState, KeyState } from './batch.js';
import type { Hold, ReapedHold } from './hold.js';
import type { PriceRules } from './price-rules.js';

export interface KeyRow {
  id: string;
  project_id: string;
  /** Null: the key itself. */
  root_key_id: string | null;
  /** Null: the key has no end. */
  expires_at: number | null;
  /** Null: none. */
  revoked_children: string[] | null;
}

export function toKeyState({ revoked_children: revokedChildren, ...row }: KeyRow): KeyState {
  const state = { projectId: row.project_id, rootKeyId: row.root_key_id ?? row.id, expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY };
  return revokedChildren === null ? state : { ...state, revokedChildren };
}

export interface AccountRow extends FundsRow {
  id: string;
  version: string;
  active: boolean;
  open_holds: number;
  budget_count: number;
  limit_count: number;
  refused_at: number | null;
}

export function toAccountState(row: AccountRow): AccountState {
  return {
    accountId: row.id,
    version: row.version,
    active: row.active,
    openHolds: row.open_holds,
    ...(row.budget_count > 0 && { budgetCount: row.budget_count }),
    ...(row.limit_count > 0 && { limitCount: row.limit_count }),
    ...(row.refused_at !== null && { announcedAt: row.refused_at }),
    funds: toFunds(row),
  };
}

export const HOLD_COLUMNS = `id, account_id, project_id, key_id, (extract(epoch FROM created_at) * 1000)::float8 AS created_at, amount::text, amount_tokens,
        plan_part::text, grant_id, input_price::text, cached_input_price::text, output_price::text, request_price::text, image_price::text, images,
        cache_write_price::text, cache_write_1h_price::text, price_rules, attribution, meter_sequence, meter_prompt_tokens,
        meter_cached_tokens, meter_cache_write_tokens, meter_cache_write_1h_tokens, meter_tier, meter_output_tokens, meter_reasoning_tokens, meter_prompt_source, meter_output_source,
        meter_quantity, CASE WHEN quantity_max IS NOT NULL THEN split_part(model, '/', 1) END AS service,
        extract(epoch FROM lease_until)::float8 * 1000 AS lease_until, ${selectRoot('key_id')} AS root_key_id`;

export interface HoldRow extends RarePriceRow {
  id: string;
  account_id: string;
  project_id: string;
  key_id: string;
  /** Null: the key itself. */
  root_key_id: string | null;
  created_at: number;
  amount: string;
  amount_tokens: number | null;
  plan_part: string;
  grant_id: string | null;
  input_price: string;
  cached_input_price: string;
  output_price: string;
  attribution: Attribution | null;
  meter_sequence: number;
  meter_prompt_tokens: number;
  meter_cached_tokens: number;
  /** Null: none, as the next one. */
  meter_cache_write_tokens: number | null;
  meter_cache_write_1h_tokens: number | null;
  meter_tier: string | null;
  meter_output_tokens: number;
  meter_reasoning_tokens: number;
  meter_prompt_source: PromptSource | null;
  meter_output_source: OutputSource | null;
  meter_quantity: number | null;
  /** Null: the hold is for a request to a model. */
  service: string | null;
  lease_until: number;
}

export function toHold(row: HoldRow): Hold {
  return {
    holdId: row.id,
    accountId: row.account_id,
    projectId: row.project_id,
    rootKeyId: row.root_key_id ?? row.key_id,
    createdAt: row.created_at,
    amount: BigInt(row.amount),
    ...(row.amount_tokens !== null && { amountTokens: row.amount_tokens }),
    planPart: BigInt(row.plan_part),
    grantId: row.grant_id,
    price: toPrice(row),
    ...(row.attribution !== null && { attribution: row.attribution }),
    ...(row.service !== null && { service: row.service }),
    meter: reading(row),
    leaseUntil: row.lease_until,
  };
}

/** A reading without sources is billed like any other. */
function reading(row: HoldRow): Hold['meter'] {
  if (row.meter_sequence === 0) return undefined;
  const { meter_prompt_source: promptSource, meter_output_source: outputSource } = row;
  return {
    promptTokens: row.meter_prompt_tokens,
    cachedTokens: row.meter_cached_tokens,
    ...(row.meter_cache_write_tokens !== null && { cacheWriteTokens: row.meter_cache_write_tokens }),
    ...(row.meter_cache_write_1h_tokens !== null && { cacheWrite1hTokens: row.meter_cache_write_1h_tokens }),
    ...(row.meter_tier !== null && { tier: row.meter_tier }),
    ...(row.meter_quantity !== null && { quantity: row.meter_quantity }),
    outputTokens: row.meter_output_tokens,
    reasoningTokens: row.meter_reasoning_tokens,
    ...(promptSource !== null && outputSource !== null ? { promptSource, outputSource } : ESTIMATED_SOURCES),
  };
}

export const SETTLEMENT_COLUMNS = `s.hold_id, (s.cost + coalesce(l.due - l.writeoff, 0))::text AS cost,
        s.reason = 'lease-expired' AND l.hold_id IS NULL AS reaped, s.account_id, s.project_id, s.key_id,
        (extract(epoch FROM s.reserved_at) * 1000)::float8 AS created_at, (extract(epoch FROM s.settled_at) * 1000)::float8 AS settled_at, s.held::text, s.over::text, s.plan_cost::text, s.live_grant_id,
        s.topup_cost::text, s.prompt_tokens::int8 + s.output_tokens AS used_tokens, s.input_price::text, s.cached_input_price::text, s.output_price::text,
        s.request_price::text, s.image_price::text, s.images, s.cache_write_price::text, s.cache_write_1h_price::text, s.price_rules, s.attribution,
        CASE WHEN s.quantity IS NOT NULL THEN split_part(s.model, '/', 1) END AS service, ${selectRoot('s.key_id')} AS root_key_id`;

export interface SettlementRow extends RarePriceRow {
  hold_id: string;
  account_id: string;
  /** Null for tombstones, which are never reaped, like the key, the time and the prices. */
  project_id: string | null;
  key_id: string | null;
  /** Null: the key itself. */
  root_key_id: string | null;
  created_at: number | null;
  settled_at: number;
  held: string;
  over: string;
  cost: string;
  /** True when the reaper ended the hold and no late settlement followed. */
  reaped: boolean;
  plan_cost: string;
  live_grant_id: string | null;
  topup_cost: string;
  used_tokens: number;
  input_price: string | null;
  cached_input_price: string | null;
  output_price: string | null;
  attribution: Attribution | null;
  /** Null: it was a request to a model. */
  service: string | null;
}

export function toReapedHold(row: SettlementRow): ReapedHold {
  return {
    accountId: row.account_id,
    projectId: row.project_id ?? '',
    rootKeyId: row.root_key_id ?? row.key_id ?? '',
    ...(row.attribution !== null && { attribution: row.attribution }),
    ...(row.service !== null && { service: row.service }),
    createdAt: row.created_at ?? 0,
    reapedAt: row.settled_at,
    amount: BigInt(row.held),
    billed: BigInt(row.cost),
    over: BigInt(row.over),
    usedTokens: row.used_tokens,
    charged: { planCost: BigInt(row.plan_cost), liveGrantId: row.live_grant_id, topupCost: BigInt(row.topup_cost) },
    price: toPrice(row),
  };
}

/** Null: the price has no such part. */
interface RarePriceRow {
  request_price: string | null;
  image_price: string | null;
  images: number | null;
  cache_write_price: string | null;
  cache_write_1h_price: string | null;
  price_rules: PriceRules | null;
}

type PriceRow = RarePriceRow & Pick<SettlementRow, 'input_price' | 'cached_input_price' | 'output_price'>;

function toPrice(row: PriceRow): Price {
  return parsePrice({
    inputPicoUsd: row.input_price ?? '0',
    cachedInputPicoUsd: row.cached_input_price ?? '0',
    outputPicoUsd: row.output_price ?? '0',
    ...(row.request_price !== null && { requestPicoUsd: row.request_price }),
    ...(row.image_price !== null && { imagePicoUsd: row.image_price }),
    ...(row.images !== null && { images: row.images }),
    ...(row.cache_write_price !== null && { cacheWritePicoUsd: row.cache_write_price }),
    ...(row.cache_write_1h_price !== null && { cacheWrite1hPicoUsd: row.cache_write_1h_price }),
    ...row.price_rules,
  });
}
