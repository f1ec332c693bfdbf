import { awaitAll, type PgConnection } from '#database/pg-connection.js';
import type { Budgets } from '../budgets/budget.js';
import { readBudgets, readValues } from '../budgets/read-budgets.js';
import type { AccountRateLimits, RateLimitState, RateLimits } from '../limits/rate-limit.js';
import { listTargets, type Payer, toPayer } from '../payer/payer.js';
import { type Columns, statement } from '../sql/statement.js';
import type { Batch, BatchState, ProjectState } from './batch.js';
import type { Hold } from './hold.js';
import { readServices } from './read-services.js';
import {
  type AccountRow,
  HOLD_COLUMNS,
  type HoldRow,
  type KeyRow,
  SETTLEMENT_COLUMNS,
  type SettlementRow,
  toAccountState,
  toHold,
  toKeyState,
  toReapedHold,
} from './state-rows.js';

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
      SELECT id, project_id, root_key_id, (extract(epoch FROM expires_at) * 1000)::float8 AS expires_at, nullif(revoked_children, '{}') AS revoked_children
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
  const holds = new Map(found.holds?.map((row) => [row.id, toHold(row)]));
  const reaped = new Map(found.settlements?.filter(({ reaped }) => reaped).map((row) => [row.hold_id, toReapedHold(row)]));
  const detachedBelow = found.detached_below;
  const budgeted = accounts.rows.filter((row) => row.budget_count > 0).map(({ id }) => id);
  const limited = accounts.rows.filter((row) => row.limit_count > 0).map(({ id }) => id);
  const keys = new Map(found.keys?.map((row) => [row.id, toKeyState(row)]));
  const reserved = reserves.map((reserve) => toPayer(reserve, keys.get(reserve.keyId)));
  const payers = [...holds.values(), ...reaped.values(), ...reserved];
  const budgets = budgeted.length > 0 ? await readBudgets(connection, budgeted, payers, moment) : NO_BUDGETS;
  const named = [...holds.values(), ...reaped.values(), ...reserves.map(({ item }) => ({ service: item?.service }))];
  const services = new Set(named.flatMap(({ service }) => service ?? []));
  const settledItems = found.settlements?.filter(({ service }) => service !== null) ?? [];
  return {
    now: moment,
    accounts: new Map(accounts.rows.map((row) => [row.id, toAccountState(row)])),
    projects: new Map(found.projects?.map((project) => [project.projectId, project])),
    keys,
    budgets,
    values: await readValues(connection, budgets, payers),
    limits: limited.length > 0 ? await readLimits(connection, limited, reserved, holds.values()) : NO_LIMITS,
    holds,
    settlements: new Map(found.settlements?.map((row) => [row.hold_id, BigInt(row.cost)])),
    ...(settledItems.length > 0 && { settledServices: new Map(settledItems.map((row) => [row.hold_id, row.service ?? ''])) }),
    reaped,
    ...(services.size > 0 && { services: await readServices(connection, services, moment) }),
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

const LIMITED: Columns<{ targetId: string; accountId: string }> = {
  target_id: ['uuid', (row) => row.targetId],
  payer_id: ['uuid', (row) => row.accountId],
};

const READ_LIMITS = statement<{ targetId: string; accountId: string }[], RateLimitState>(
  'read_limits',
  (inputs) => `SELECT l.id AS "targetId", account_id AS "accountId", key_id AS "keyId", requests_per_minute_max AS "requestsPerMinuteMax",
      concurrency_max AS "concurrencyMax", tokens_per_minute_max AS "tokensPerMinuteMax", open_holds AS "openHolds",
      request_window AS "requestWindow", token_window AS "tokenWindow", model_limits AS "modelLimits", model_windows AS "modelWindows"
    FROM ${inputs.rows(LIMITED, (targets) => targets).as('b')},
      LATERAL (SELECT * FROM billing.rate_limit WHERE id = b.target_id AND account_id = b.payer_id LIMIT 1) AS l`,
);

const HELD: Columns<Hold> = { hold_id: ['uuid', (row) => row.holdId], payer_id: ['uuid', (row) => row.accountId] };

const READ_TOKENS = statement<Hold[], { id: string; tokens: number; model: string }>(
  'read_tokens',
  (inputs) => `SELECT h.id, h.tokens::float8, h.model FROM ${inputs.rows(HELD, (holds) => holds).as('b')},
      LATERAL (SELECT id, tokens, model FROM billing.hold WHERE id = b.hold_id AND account_id = b.payer_id LIMIT 1) AS h
    WHERE h.tokens IS NOT NULL`,
);

/**
 * Reads the limits that requests count towards, by account, in the transaction that has locked the accounts. Sets the tokens and the model of
 * the open holds that count towards limits of tokens.
 */
async function readLimits(
  connection: PgConnection,
  accountIds: readonly string[],
  requests: readonly Payer[],
  openHolds: Iterable<Hold>,
): Promise<Map<string, AccountRateLimits>> {
  const limits = new Map(accountIds.map((accountId) => [accountId, new Map<string, RateLimitState | null>()]));
  const holds = [...openHolds].filter(({ accountId }) => limits.has(accountId));
  for (const payer of [...requests, ...holds]) for (const targetId of listTargets(payer)) limits.get(payer.accountId)?.set(targetId, null);
  const targets = [...limits].flatMap(([accountId, ofAccount]) => [...ofAccount.keys()].map((targetId) => ({ targetId, accountId })));
  const [{ rows }, tokens] = await Promise.all([READ_LIMITS.execute(connection, targets), READ_TOKENS.execute(connection, holds)]);
  for (const { modelLimits, ...limit } of rows)
    limits.get(limit.accountId)?.set(limit.targetId, { ...limit, ...(modelLimits && { modelLimits }) });
  const tokensById = new Map(tokens.rows.map(({ id, ...counted }) => [id, counted]));
  for (const hold of holds) Object.assign(hold, tokensById.get(hold.holdId));
  return limits;
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
