import type { QueryResult } from 'pg';
import { allOf, type PgConnection } from '#database/pg-connection.js';
import { traceIdOf } from '#tracing/trace-context.js';
import type { BudgetState } from '../budgets/budget.js';
import { changeValues, DEMAND_VALUES, valueColumns } from '../budgets/read-values.js';
import type { RateLimitState } from '../limits/rate-limit.js';
import { execute, plainArray } from '../sql/pipelined-query.js';
import type { AccountState, BatchRows, Forfeit, LateSettlement, OpenedHold, ProjectState, Settle, Settlement } from './batch.js';
import { writeEvents } from './write-events.js';

/**
 * Returns the common table expressions of the statement that writes a batch. A hold is deleted once and its settlement inserted once, from
 * the deleted row: nothing else ends a hold. $1 is the time of the batch, $2 to $34 are `holdColumns`.
 * Each row is found by its account too: see `read-state.ts`. `attribution` and `amountTokens` are the parameters of the opened holds that
 * `moreColumns` has; `rare` is the first one of `rareColumns` if the batch has such a column.
 */
export function closeAndOpenHolds(attribution: string, amountTokens: string, rare?: number): string {
  const { opened, openedValues, closed, closedValues } = rare === undefined ? NO_RARE : rareNames(rare);
  return `closed AS (
      DELETE FROM billing.hold h
      USING unnest($2::uuid[], $3::text[], $4::text[], $5::int8[], $6::numeric[], $7::int8[], $8::uuid[], $9::int8[], $10::int8[],
          $11::int8[], $12::int4[], $13::int4[], $14::int4[], $15::int4[], $16::text[], $17::text[], $18::text[], $19::uuid[]${closedValues})
        AS s (hold_id, reason, upstream, cost, over, plan_cost, live_grant_id, ended_cost, forfeit,
          topup_cost, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, prompt_source, output_source, settled_by, payer_id${closed})
      WHERE h.id = s.hold_id AND h.account_id = s.payer_id
      RETURNING h.*, s.*
    ), settled AS (
      INSERT INTO billing.settlement (hold_id, account_id, project_id, key_id, request_id, model, upstream, reason, held, cost,
        plan_cost, live_grant_id, ended_cost, forfeit, grant_id, topup_cost, over, prompt_tokens, cached_tokens, output_tokens,
        reasoning_tokens, prompt_source, output_source, settled_by, price_version, input_price, cached_input_price, output_price,
        reserved_at, trace_id, attribution, price_plan, request_price, image_price, images, cache_write_price, cache_write_1h_price,
        settled_at${closed})
      SELECT hold_id, account_id, project_id, key_id, request_id, model, upstream, reason, amount, cost,
        plan_cost, live_grant_id, ended_cost, forfeit, grant_id, topup_cost, over, prompt_tokens, cached_tokens, output_tokens,
        reasoning_tokens, prompt_source, output_source, settled_by, price_version, input_price, cached_input_price, output_price,
        created_at, trace_id, attribution, price_plan, request_price, image_price, images, cache_write_price, cache_write_1h_price,
        $1::timestamptz${closed}
      FROM closed RETURNING 1
    ), opened AS (
      INSERT INTO billing.hold (id, account_id, project_id, key_id, request_id, model, amount, plan_part, grant_id,
        price_version, input_price, cached_input_price, output_price, lease_until, trace_id, attribution, amount_tokens,${opened}
        created_at)
      SELECT *, $1::timestamptz FROM unnest($20::uuid[], $21::uuid[], $22::uuid[], $23::uuid[], $24::text[], $25::text[], $26::int8[],
        $27::int8[], $28::uuid[], $29::int4[], $30::int8[], $31::int8[], $32::int8[], $33::timestamptz[], $34::uuid[], ${attribution}::jsonb[],
        ${amountTokens}::int8[]${openedValues})
    )`;
}

/** Names of the rare columns, and their parameters. */
const NO_RARE = { opened: '', openedValues: '', closed: '', closedValues: '' };

function rareNames(from: number): typeof NO_RARE {
  const parameters = (types: readonly string[], first: number): string =>
    types.map((type, position) => `, $${first + position}::${type}[]`).join('');
  return {
    opened: ' tokens, price_plan, request_price, image_price, images, cache_write_price, cache_write_1h_price,',
    openedValues: parameters(['int8', 'text', 'int8', 'int8', 'int4', 'int8', 'int8'], from),
    closed: ', cache_write_tokens, cache_write_1h_tokens',
    closedValues: parameters(['int4', 'int4'], from + 7),
  };
}

/** A batch can end a grant, never start one. */
export const ACCOUNT_SET = `topup = s.topup, topup_held = s.topup_held, plan = s.plan, plan_held = s.plan_held,
        expired = s.expired, grant_id = s.grant_id, grant_ends_at = CASE WHEN s.grant_id IS NULL THEN NULL ELSE a.grant_ends_at END,
        open_holds = s.open_holds`;
/** Leaves out the limits, which an operator may have changed. */
export const PROJECT_SET = 'open_holds = s.open_holds, request_window = s.request_window';

/** Writes the rows that nearly every batch has, in one statement, because each statement has a fixed cost. */
function writeBatch(name: string, rare?: number) {
  const text = `WITH ${closeAndOpenHolds('$47', '$48', rare)}, changed_accounts AS (
      UPDATE billing.account a SET ${ACCOUNT_SET}
      FROM unnest($35::uuid[], $36::numeric[], $37::numeric[], $38::numeric[], $39::numeric[], $40::numeric[], $41::uuid[], $42::int4[])
        AS s (id, topup, topup_held, plan, plan_held, expired, grant_id, open_holds)
      WHERE a.id = s.id RETURNING 1
    ), changed_projects AS (
      UPDATE billing.project p SET ${PROJECT_SET}
      FROM unnest($43::uuid[], $44::uuid[], $45::int4[], $46::json[]) AS s (id, payer_id, open_holds, request_window)
      WHERE p.id = s.id AND p.account_id = s.payer_id RETURNING 1
    )
    SELECT pg_current_xact_id()::xid::text AS version,
      billing.demand((SELECT count(*) FROM settled) = cardinality($2), 'a hold to end was not there'),
      billing.demand((SELECT count(*) FROM changed_accounts) = cardinality($35), 'an account was not there'),
      billing.demand((SELECT count(*) FROM changed_projects) = cardinality($43), 'a project was not there')`;
  return { name, text };
}

const WRITE_BATCH = writeBatch('write_batch');
const WRITE_BATCH_WITH_RARE_COLUMNS = writeBatch('write_batch_with_rare_columns', 49);

const WRITE_VALUES = { name: 'write_budget_values', text: `WITH ${changeValues(1)} SELECT ${DEMAND_VALUES}` };

/** `from` is the number of the first parameter of `budgetColumns`. A batch begins windows where it reads them (`readBudgets`). */
export function updateBudgets(from: number): string {
  return `UPDATE billing.budget b SET spent = s.spent, held = s.held
      FROM unnest($${from}::uuid[], $${from + 1}::uuid[], $${from + 2}::numeric[], $${from + 3}::numeric[]) AS s (id, payer_id, spent, held)
      WHERE b.id = s.id AND b.account_id = s.payer_id`;
}

const WRITE_BUDGETS = {
  name: 'write_budgets',
  text: `WITH changed AS (${updateBudgets(1)} RETURNING 1)
    SELECT billing.demand((SELECT count(*) FROM changed) = cardinality($1), 'a budget was not there')`,
};

/** `from` is the number of the first parameter of `limitColumns`. */
export function updateLimits(from: number): string {
  return `UPDATE billing.rate_limit l
      SET open_holds = s.open_holds, request_window = s.request_window, token_window = s.token_window, model_windows = s.model_windows
      FROM unnest($${from}::uuid[], $${from + 1}::uuid[], $${from + 2}::int4[], $${from + 3}::json[], $${from + 4}::json[],
          $${from + 5}::json[])
        AS s (id, payer_id, open_holds, request_window, token_window, model_windows)
      WHERE l.id = s.id AND l.account_id = s.payer_id`;
}

const WRITE_LIMITS = {
  name: 'write_limits',
  text: `WITH changed AS (${updateLimits(1)} RETURNING 1)
    SELECT billing.demand((SELECT count(*) FROM changed) = cardinality($1), 'a rate limit was not there')`,
};

const RECORD_TOMBSTONES = {
  name: 'record_tombstones',
  text: `INSERT INTO billing.settlement (hold_id, account_id, reason, upstream, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over,
      prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, settled_at)
    SELECT hold_id, account_id, reason, upstream, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $5::timestamptz
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS s (hold_id, account_id, reason, upstream)`,
};

const SETTLE_LATE = {
  name: 'settle_late',
  text: `INSERT INTO billing.late_settlement (hold_id, account_id, reason, upstream, held, billed, due, plan_cost, live_grant_id, topup_cost,
      writeoff, forfeit, over, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, prompt_source, output_source, settled_by,
      cache_write_tokens, cache_write_1h_tokens, settled_at)
    SELECT l.*, $23::timestamptz FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
      $9::uuid[], $10::int8[], $11::int8[], $12::int8[], $13::numeric[], $14::int4[], $15::int4[], $16::int4[], $17::int4[], $18::text[],
      $19::text[], $20::text[], $21::int4[], $22::int4[]) AS l`,
};

const FORFEIT = {
  name: 'forfeit_grants',
  text: `INSERT INTO billing.movement (account_id, kind, amount, grant_id, idempotency_key, created_at)
    SELECT account_id, 'forfeit', amount, grant_id, 'forfeit:' || grant_id, $4::timestamptz
    FROM unnest($1::uuid[], $2::numeric[], $3::uuid[]) AS f (account_id, amount, grant_id)`,
};

/**
 * Writes the rows of a fold and commits, in one round trip. If a statement fails, the server makes the COMMIT a rollback. `now` is the time
 * of the batch in milliseconds. Returns the new version of the accounts.
 */
export async function writeRows(connection: PgConnection, rows: BatchRows, now: number): Promise<string | undefined> {
  const at = new Date(now).toISOString();
  const others: Promise<unknown>[] = [];
  if (rows.tombstones.length > 0) others.push(execute(connection, RECORD_TOMBSTONES, tombstoneColumns(rows.tombstones, at)));
  if (rows.late.length > 0) others.push(execute(connection, SETTLE_LATE, lateColumns(rows.late, at)));
  if (rows.forfeits.length > 0) others.push(execute(connection, FORFEIT, forfeitColumns(rows.forfeits, at)));
  if (rows.budgets.length > 0) others.push(execute(connection, WRITE_BUDGETS, budgetColumns(rows.budgets)));
  if (rows.values.length > 0) others.push(execute(connection, WRITE_VALUES, valueColumns(rows.values)));
  if (rows.events.length > 0) others.push(writeEvents(connection, rows, at));
  if (rows.limits.length > 0) others.push(execute(connection, WRITE_LIMITS, limitColumns(rows.limits)));
  const changes = rows.settled.length + rows.opened.length + rows.accounts.length + rows.projects.length > 0;
  const values = (): unknown[] => [
    at,
    ...holdColumns(rows),
    ...accountColumns(rows.accounts),
    ...projectColumns(rows.projects),
    ...moreColumns(rows.opened),
  ];
  const write = (): Promise<QueryResult<{ version: string }>> =>
    hasRareColumns(rows)
      ? execute(connection, WRITE_BATCH_WITH_RARE_COLUMNS, [...values(), ...rareColumns(rows)])
      : execute(connection, WRITE_BATCH, values());
  const written = changes ? write() : undefined;
  await allOf([...others, written ?? Promise.resolve(undefined), connection.query('COMMIT')]);
  return (await written)?.rows[0]?.version;
}

/** Values of $2 to $34. */
export function holdColumns({ settled, opened }: Pick<BatchRows, 'settled' | 'opened'>): unknown[] {
  return [...settledColumns(settled), ...openedColumns(opened)];
}

function settledColumns(settled: readonly Settlement[]): unknown[] {
  return [
    plainArray(settled.map((row) => row.holdId)),
    settled.map((row) => row.reason),
    settled.map((row) => row.upstream),
    plainArray(settled.map((row) => row.cost)),
    plainArray(settled.map((row) => row.over)),
    plainArray(settled.map((row) => row.charge.planCost)),
    plainArray(settled.map((row) => row.charge.liveGrantId)),
    plainArray(settled.map((row) => row.charge.endedCost)),
    plainArray(settled.map((row) => row.charge.forfeit)),
    plainArray(settled.map((row) => row.charge.topupCost)),
    plainArray(settled.map((row) => row.usage.promptTokens)),
    plainArray(settled.map((row) => row.usage.cachedTokens)),
    plainArray(settled.map((row) => row.usage.outputTokens)),
    plainArray(settled.map((row) => row.usage.reasoningTokens)),
    settled.map((row) => (row.metered ? row.usage.promptSource : null)),
    settled.map((row) => (row.metered ? row.usage.outputSource : null)),
    settled.map((row) => row.settledBy),
    plainArray(settled.map((row) => row.accountId)),
  ];
}

function tombstoneColumns(tombstones: readonly Settle[], at: string): unknown[] {
  return [
    plainArray(tombstones.map((row) => row.holdId)),
    plainArray(tombstones.map((row) => row.accountId)),
    tombstones.map((row) => row.reason),
    tombstones.map((row) => row.upstream ?? null),
    at,
  ];
}

function lateColumns(late: readonly LateSettlement[], at: string): unknown[] {
  return [
    plainArray(late.map(({ settle }) => settle.holdId)),
    plainArray(late.map(({ hold }) => hold.accountId)),
    late.map(({ settle }) => settle.reason),
    late.map(({ settle }) => settle.upstream ?? null),
    plainArray(late.map(({ hold }) => hold.amount)),
    plainArray(late.map(({ hold }) => hold.billed)),
    plainArray(late.map((row) => row.due)),
    plainArray(late.map((row) => row.charge.planCost)),
    plainArray(late.map((row) => row.charge.liveGrantId)),
    plainArray(late.map((row) => row.charge.topupCost)),
    plainArray(late.map((row) => row.charge.writeoff)),
    plainArray(late.map((row) => row.charge.forfeit)),
    plainArray(late.map((row) => row.over)),
    plainArray(late.map((row) => row.usage.promptTokens)),
    plainArray(late.map((row) => row.usage.cachedTokens)),
    plainArray(late.map((row) => row.usage.outputTokens)),
    plainArray(late.map((row) => row.usage.reasoningTokens)),
    late.map((row) => (row.metered ? row.usage.promptSource : null)),
    late.map((row) => (row.metered ? row.usage.outputSource : null)),
    late.map(({ settle }) => settle.settledBy ?? null),
    ...writeColumns(late),
    at,
  ];
}

function openedColumns(opened: readonly OpenedHold[]): unknown[] {
  return [
    plainArray(opened.map(({ reserve }) => reserve.holdId)),
    plainArray(opened.map(({ reserve }) => reserve.accountId)),
    plainArray(opened.map(({ reserve }) => reserve.projectId)),
    plainArray(opened.map(({ reserve }) => reserve.keyId)),
    opened.map(({ reserve }) => reserve.requestId),
    opened.map(({ reserve }) => reserve.model),
    plainArray(opened.map(({ reserve }) => reserve.amountPicoUsd)),
    plainArray(opened.map((row) => row.planPart)),
    plainArray(opened.map((row) => row.grantId)),
    plainArray(opened.map(({ reserve }) => reserve.price.version)),
    plainArray(opened.map(({ reserve }) => reserve.price.inputPicoUsd)),
    plainArray(opened.map(({ reserve }) => reserve.price.cachedInputPicoUsd)),
    plainArray(opened.map(({ reserve }) => reserve.price.outputPicoUsd)),
    plainArray(opened.map((row) => new Date(row.leaseUntil).toISOString())),
    plainArray(opened.map(({ reserve: { traceparent } }) => (traceparent === undefined ? null : traceIdOf({ traceparent })))),
  ];
}

function forfeitColumns(forfeits: readonly Forfeit[], at: string): unknown[] {
  return [
    plainArray(forfeits.map((row) => row.accountId)),
    plainArray(forfeits.map((row) => row.amount)),
    plainArray(forfeits.map((row) => row.grantId)),
    at,
  ];
}

export function accountColumns(accounts: readonly AccountState[]): unknown[] {
  return [
    plainArray(accounts.map((row) => row.accountId)),
    plainArray(accounts.map(({ funds }) => funds.topup)),
    plainArray(accounts.map(({ funds }) => funds.topupHeld)),
    plainArray(accounts.map(({ funds }) => funds.plan)),
    plainArray(accounts.map(({ funds }) => funds.planHeld)),
    plainArray(accounts.map(({ funds }) => funds.expired)),
    plainArray(accounts.map(({ funds }) => funds.grant?.id ?? null)),
    plainArray(accounts.map((row) => row.openHolds)),
  ];
}

export function projectColumns(projects: readonly ProjectState[]): unknown[] {
  return [
    plainArray(projects.map((row) => row.projectId)),
    plainArray(projects.map((row) => row.accountId)),
    plainArray(projects.map((row) => row.openHolds)),
    projects.map((row) => JSON.stringify(row.requestWindow)),
  ];
}

export function budgetColumns(budgets: readonly BudgetState[]): unknown[] {
  return [
    plainArray(budgets.map((row) => row.budgetId)),
    plainArray(budgets.map((row) => row.accountId)),
    plainArray(budgets.map((row) => row.spent)),
    plainArray(budgets.map((row) => row.held)),
  ];
}

export function limitColumns(limits: readonly RateLimitState[]): unknown[] {
  return [
    plainArray(limits.map((row) => row.targetId)),
    plainArray(limits.map((row) => row.accountId)),
    plainArray(limits.map((row) => row.openHolds)),
    limits.map((row) => JSON.stringify(row.requestWindow)),
    limits.map((row) => JSON.stringify(row.tokenWindow)),
    limits.map((row) => JSON.stringify(row.modelWindows ?? {})),
  ];
}

/** Values of the parameters `attribution` and `amountTokens` of `closeAndOpenHolds`. */
export function moreColumns(opened: readonly OpenedHold[]): unknown[] {
  return [attributionColumn(opened), plainArray(opened.map(({ reserve }) => reserve.amountTokens ?? null))];
}

function attributionColumn(opened: readonly OpenedHold[]): unknown[] {
  return opened.map(({ reserve: { attribution = {} } }) => {
    for (const _ in attribution) return JSON.stringify(attribution);
    return null;
  });
}

/** Parameters from `rare` of `closeAndOpenHolds` on. */
export const RARE_WIDTH = 9;

/**
 * True when a hold that is opened counts towards a limit of tokens, or has a price besides those that all have, or one that is ended has
 * written to a cache of its upstream. Other batches need fewer parameters.
 */
export function hasRareColumns({ opened, settled }: Pick<BatchRows, 'opened' | 'settled'>): boolean {
  return opened.some(isRare) || settled.some(({ usage }) => usage.cacheWriteTokens || usage.cacheWrite1hTokens);
}

function isRare({ tokens, reserve: { price } }: OpenedHold): boolean {
  return tokens !== undefined || RARE_PRICES.some((name) => price[name] !== undefined);
}

const RARE_PRICES = ['pricePlan', 'requestPicoUsd', 'imagePicoUsd', 'cacheWritePicoUsd', 'cacheWrite1hPicoUsd'] as const;

/** Values of the parameters from `rare` of `closeAndOpenHolds` on. */
export function rareColumns({ opened, settled }: Pick<BatchRows, 'opened' | 'settled'>): unknown[] {
  const prices = opened.map(({ reserve }) => reserve.price);
  return [
    plainArray(opened.map(({ tokens }) => tokens ?? null)),
    prices.map(({ pricePlan }) => pricePlan ?? null),
    plainArray(prices.map(({ requestPicoUsd }) => requestPicoUsd ?? null)),
    plainArray(prices.map(({ imagePicoUsd }) => imagePicoUsd ?? null)),
    plainArray(prices.map(({ imagePicoUsd, images }) => (imagePicoUsd === undefined ? null : (images ?? 0)))),
    plainArray(prices.map(({ cacheWritePicoUsd }) => cacheWritePicoUsd ?? null)),
    plainArray(prices.map(({ cacheWrite1hPicoUsd }) => cacheWrite1hPicoUsd ?? null)),
    ...writeColumns(settled),
  ];
}

/** Tokens written to caches. Null: none. */
function writeColumns(rows: readonly Pick<Settlement, 'usage'>[]): unknown[] {
  return [
    plainArray(rows.map(({ usage }) => usage.cacheWriteTokens || null)),
    plainArray(rows.map(({ usage }) => usage.cacheWrite1hTokens || null)),
  ];
}
