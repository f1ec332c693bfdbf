import type { Attribution } from '#contracts/billing/attribution.js';
import { ESTIMATED_SOURCES } from '#contracts/billing/holds.js';
import { awaitAll, type PgConnection } from '#database/pg-connection.js';
import type { OutputSource, PromptSource } from '#inference/usage.js';
import type { Price } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { type FundsRow, toFunds } from '../balance/funds.js';
import type { Budgets } from '../budgets/budget.js';
import { readBudgets } from '../budgets/read-budgets.js';
import { readValues } from '../budgets/read-values.js';
import type { RateLimits } from '../limits/rate-limit.js';
import { selectRoot } from '../payer/key-roots.js';
import { toPayer } from '../payer/payer.js';
import { type Columns, statement } from '../sql/statement.js';
import type { AccountState, Batch, BatchState, KeyState, ProjectState } from './batch.js';
import type { Hold, ReapedHold } from './hold.js';
import { readLimits } from './read-limits.js';
import { toUsageSources } from './usage-sources.js';

/*
 * Statements of the hot path find a row by its account and its id, in a LATERAL query per row: a database that is distributed by account
 * asks one shard for each, and Postgres looks into one month of a journal. It does not flatten such a query, so it uses the index also when
 * it plans while the table is small.
 */

/** Ascending, so that two batches cannot deadlock. */
const LOCK_ACCOUNTS = statement<string[], AccountRow>(
  'lock_accounts',
  (inputs) => `SELECT a.id, version, status = 'active' AS active, open_holds, topup, topup_held, plan, plan_held, expired, grant_id,
      extract(epoch FROM grant_ends_at)::float8 * 1000 AS grant_ends_at, credit_line, budget_count, limit_count,
      extract(epoch FROM refused_at)::float8 * 1000 AS refused_at
    FROM (SELECT unnest(${inputs.array('uuid', (ids) => ids)}) AS id ORDER BY id) AS b,
      LATERAL (SELECT xmin::text AS version, * FROM billing.account WHERE id = b.id FOR NO KEY UPDATE) AS a`,
);

const HOLD_COLUMNS = `id, account_id, project_id, key_id, (extract(epoch FROM created_at) * 1000)::float8 AS created_at, amount::text, amount_tokens,
        plan_part::text, grant_id, input_price::text, cached_input_price::text, output_price::text, request_price::text, image_price::text, images,
        cache_write_price::text, cache_write_1h_price::text, attribution, meter_sequence, meter_prompt_tokens,
        meter_cached_tokens, meter_cache_write_tokens, meter_cache_write_1h_tokens, meter_output_tokens, meter_reasoning_tokens, meter_prompt_source, meter_output_source,
        extract(epoch FROM lease_until)::float8 * 1000 AS lease_until, ${selectRoot('key_id')} AS root_key_id`;
const SETTLEMENT_COLUMNS = `s.hold_id, (s.cost + coalesce(l.due - l.writeoff, 0))::text AS cost,
        s.reason = 'lease-expired' AND l.hold_id IS NULL AS reaped, s.account_id, s.project_id, s.key_id,
        (extract(epoch FROM s.reserved_at) * 1000)::float8 AS created_at, s.held::text, s.plan_cost::text, s.live_grant_id,
        s.topup_cost::text, s.prompt_tokens::int8 + s.output_tokens AS used_tokens, s.input_price::text, s.cached_input_price::text, s.output_price::text,
        s.request_price::text, s.image_price::text, s.images, s.cache_write_price::text, s.cache_write_1h_price::text, s.attribution, ${selectRoot('s.key_id')} AS root_key_id`;

interface OfPayer {
  id: string;
  accountId: string;
}

const OF_PAYER: Columns<OfPayer> = { own_id: ['uuid', (row) => row.id], payer_id: ['uuid', (row) => row.accountId] };

/** Holds of the batch and those of them to end, projects and keys. Null: the batch has no id. */
interface AskedRows {
  holds: OfPayer[];
  ended: OfPayer[];
  projects: OfPayer[];
  keyIds: string[];
  lowest: string | null;
  highest: string | null;
}

/**
 * Reads the rest of the state as JSON in one row, because each statement has a fixed cost. Holds are locked too: a renewal must
 * either be seen here or find the hold gone. Projects are those of the reserves and of the holds to end. Amounts are text, because JSON
 * numbers would round them. The lowest and the highest id leave out the partitions of other months before the statement starts.
 */
const READ_BATCH = statement<AskedRows, BatchRow>('read_batch', (inputs) => {
  const asked = inputs.rows(OF_PAYER, (rows) => rows.holds);
  const ended = inputs.rows(OF_PAYER, (rows) => rows.ended);
  const projects = inputs.rows(OF_PAYER, (rows) => rows.projects);
  const keyIds = inputs.array('uuid', (rows) => rows.keyIds);
  const [lowest, highest] = [inputs.value((rows) => rows.lowest), inputs.value((rows) => rows.highest)];
  return `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now,
    (SELECT json_agg(h) FROM (
      SELECT ${HOLD_COLUMNS}
      FROM (SELECT * FROM ${asked.as('b')} ORDER BY own_id) AS b,
        LATERAL (SELECT * FROM billing.hold WHERE id = b.own_id AND account_id = b.payer_id FOR UPDATE) AS h) h) AS holds,
    (SELECT json_agg(s) FROM (
      SELECT ${SETTLEMENT_COLUMNS}
      FROM ${asked.as('b')},
        LATERAL (SELECT * FROM billing.settlement
          WHERE hold_id = b.own_id AND account_id = b.payer_id AND hold_id BETWEEN ${lowest} AND ${highest} LIMIT 1) AS s
        LEFT JOIN LATERAL (SELECT * FROM billing.late_settlement
          WHERE hold_id = b.own_id AND account_id = b.payer_id AND hold_id BETWEEN ${lowest} AND ${highest} LIMIT 1) AS l
          ON true) s) AS settlements,
    (SELECT json_agg(p) FROM (
      SELECT id AS "projectId", version::text, account_id AS "accountId", enabled, requests_per_minute_max AS "requestsPerMinuteMax",
        concurrency_max AS "concurrencyMax", open_holds AS "openHolds", request_window AS "requestWindow"
      FROM (
          SELECT * FROM ${projects.as('reserved')}
          UNION SELECT h.project_id, ended.payer_id FROM ${ended.as('ended')},
            LATERAL (SELECT project_id FROM billing.hold WHERE id = ended.own_id AND account_id = ended.payer_id LIMIT 1) AS h
        ) AS b,
        LATERAL (SELECT * FROM billing.project WHERE id = b.own_id AND account_id = b.payer_id LIMIT 1) AS p) p) AS projects,
    (SELECT json_agg(k) FROM (
      SELECT id, project_id, root_key_id, (extract(epoch FROM expires_at) * 1000)::float8 AS expires_at
      FROM billing.api_key WHERE id = ANY (${keyIds}) AND revoked_at IS NULL AND NOT disabled) k) AS keys,
    (SELECT json_agg(e) FROM billing.used_elsewhere(${asked.arrays}) e) AS elsewhere,
    (SELECT ids_below FROM billing.detached_month WHERE ids_below > ${lowest} ORDER BY ids_below DESC LIMIT 1) AS detached_below`;
});

/** Reads holds of other accounts than those named with them: only a faulty caller does so. */
const READ_ELSEWHERE = statement<readonly string[], Pick<BatchRow, 'holds' | 'settlements'>>('read_elsewhere', (inputs) => {
  const ids = inputs.array('uuid', (holdIds) => holdIds);
  return `SELECT
    (SELECT json_agg(h) FROM (SELECT ${HOLD_COLUMNS} FROM billing.hold WHERE id = ANY (${ids}) ORDER BY id FOR UPDATE) h) AS holds,
    (SELECT json_agg(s) FROM (
      SELECT ${SETTLEMENT_COLUMNS} FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id
      WHERE s.hold_id = ANY (${ids})) s) AS settlements`;
});

/**
 * Begins a transaction, locks the accounts of the batch and reads its state, in one round trip; then reads budgets and limits, where there are
 * any. Lock and read are two statements because only a statement after the lock sees what was committed while it waited.
 */
export async function readState(connection: PgConnection, batch: Batch, now?: number): Promise<BatchState> {
  const { settles, reserves, sweeps = [] } = batch;
  const accountIds = unique([...settles.map((settle) => settle.accountId), ...reserves.map((reserve) => reserve.accountId), ...sweeps]);
  const holdIds = [...settles, ...reserves].map(({ holdId }) => holdId);
  const [, accounts, read] = await awaitAll([
    connection.query('BEGIN'),
    LOCK_ACCOUNTS.execute(connection, accountIds),
    READ_BATCH.execute(connection, {
      holds: pairs([...settles, ...reserves], ({ holdId }) => holdId),
      ended: pairs(settles, ({ holdId }) => holdId),
      projects: pairs(reserves, ({ projectId }) => projectId),
      keyIds: unique(reserves.map((reserve) => reserve.keyId)),
      ...lowestAndHighest(holdIds),
    }),
  ]);
  const [found] = read.rows;
  if (found === undefined) throw new TypeError('reading a batch returned no row');
  if (found.elsewhere) await addElsewhere(connection, found, found.elsewhere);
  const moment = now ?? Math.floor(found.now);
  const holds = new Map(found.holds?.map((row) => [row.id, hold(row)]));
  const reaped = new Map(found.settlements?.filter(({ reaped }) => reaped).map((row) => [row.hold_id, reapedHold(row)]));
  const detachedBelow = found.detached_below;
  const budgeted = accounts.rows.filter((row) => row.budget_count > 0).map(({ id }) => id);
  const limited = accounts.rows.filter((row) => row.limit_count > 0).map(({ id }) => id);
  const keys = new Map(found.keys?.map((row) => [row.id, keyState(row)]));
  const reserved = reserves.map((reserve) => toPayer(reserve, keys.get(reserve.keyId)));
  const payers = [...holds.values(), ...reaped.values(), ...reserved];
  const budgets = budgeted.length > 0 ? await readBudgets(connection, budgeted, payers, moment) : NO_BUDGETS;
  return {
    now: moment,
    accounts: new Map(accounts.rows.map((row) => [row.id, accountState(row)])),
    projects: new Map(found.projects?.map((project) => [project.projectId, project])),
    keys,
    budgets,
    values: await readValues(connection, budgets, payers),
    limits: limited.length > 0 ? await readLimits(connection, limited, reserved, holds.values()) : NO_LIMITS,
    holds,
    settlements: new Map(found.settlements?.map((row) => [row.hold_id, BigInt(row.cost)])),
    reaped,
    detached: new Set(detachedBelow === null ? [] : holdIds.filter((id) => id.toLowerCase() < detachedBelow)),
  };
}

async function addElsewhere(connection: PgConnection, found: BatchRow, holdIds: readonly string[]): Promise<void> {
  const { rows } = await READ_ELSEWHERE.execute(connection, holdIds);
  const [elsewhere] = rows;
  found.holds = [...(found.holds ?? []), ...(elsewhere?.holds ?? [])];
  found.settlements = [...(found.settlements ?? []), ...(elsewhere?.settlements ?? [])];
}

const NO_BUDGETS: Budgets = new Map();
const NO_LIMITS: RateLimits = new Map();

/** Null: no rows. */
interface BatchRow {
  now: number;
  holds: HoldRow[] | null;
  settlements: SettlementRow[] | null;
  projects: ProjectState[] | null;
  keys: KeyRow[] | null;
  /** Ids of the batch that are of other accounts. */
  elsewhere: string[] | null;
  /** Ids below it are of detached months. Null: the batch has none of them. */
  detached_below: string | null;
}

interface KeyRow {
  id: string;
  project_id: string;
  /** Null: the key itself. */
  root_key_id: string | null;
  /** Null: the key has no end. */
  expires_at: number | null;
}

function keyState(row: KeyRow): KeyState {
  return { projectId: row.project_id, rootKeyId: row.root_key_id ?? row.id, expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY };
}

interface AccountRow extends FundsRow {
  id: string;
  version: string;
  active: boolean;
  open_holds: number;
  budget_count: number;
  limit_count: number;
  refused_at: number | null;
}

function accountState(row: AccountRow): AccountState {
  return {
    accountId: row.id,
    version: row.version,
    active: row.active,
    openHolds: row.open_holds,
    ...(row.budget_count > 0 && { budgetCount: row.budget_count }),
    ...(row.limit_count > 0 && { limitCount: row.limit_count }),
    ...(row.refused_at !== null && { refusedAt: row.refused_at }),
    funds: toFunds(row),
  };
}

interface HoldRow extends RarePriceRow {
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
  meter_output_tokens: number;
  meter_reasoning_tokens: number;
  meter_prompt_source: PromptSource | null;
  meter_output_source: OutputSource | null;
  lease_until: number;
}

function hold(row: HoldRow): Hold {
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
    outputTokens: row.meter_output_tokens,
    reasoningTokens: row.meter_reasoning_tokens,
    ...(toUsageSources({ promptSource, outputSource }) ?? ESTIMATED_SOURCES),
  };
}

interface SettlementRow extends RarePriceRow {
  hold_id: string;
  account_id: string;
  /** Null for tombstones, which are never reaped, like the key, the time and the prices. */
  project_id: string | null;
  key_id: string | null;
  /** Null: the key itself. */
  root_key_id: string | null;
  created_at: number | null;
  held: string;
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
}

function reapedHold(row: SettlementRow): ReapedHold {
  return {
    accountId: row.account_id,
    projectId: row.project_id ?? '',
    rootKeyId: row.root_key_id ?? row.key_id ?? '',
    ...(row.attribution !== null && { attribution: row.attribution }),
    createdAt: row.created_at ?? 0,
    amount: BigInt(row.held),
    billed: BigInt(row.cost),
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
  });
}

/** Returns ids with the accounts that they are of, each pair once. */
function pairs<Item extends { accountId: string }>(items: readonly Item[], readId: (item: Item) => string): OfPayer[] {
  const found = items.map((item) => ({ id: readId(item), accountId: item.accountId }));
  return [...new Map(found.map((pair) => [`${pair.id} ${pair.accountId}`, pair])).values()];
}

/** Returns the ends of the range of ids in the order of the database, whatever the case of their letters; null without ids. */
function lowestAndHighest(ids: readonly string[]): Pick<AskedRows, 'lowest' | 'highest'> {
  let lowest: string | null = null;
  let highest: string | null = null;
  for (const id of ids) {
    const inOrder = id.toLowerCase();
    if (lowest === null || inOrder < lowest) lowest = inOrder;
    if (highest === null || inOrder > highest) highest = inOrder;
  }
  return { lowest, highest };
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
