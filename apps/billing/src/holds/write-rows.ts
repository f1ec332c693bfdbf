import type { PgConnection } from '#database/pg-connection.js';
import type { AccountState, BatchRows, Forfeit, OpenedHold, ProjectState, Settle, Settlement } from './batch.js';
import { allOf, execute, plainArray } from './pipeline.js';

/** A hold is deleted once and its settlement inserted once, from the deleted row itself: nothing else ends a hold. */
const CLOSE_HOLDS = {
  name: 'close_holds',
  text: `WITH closed AS (
      DELETE FROM billing.hold h
      USING unnest($1::uuid[], $2::text[], $3::text[], $4::int8[], $5::numeric[], $6::int8[], $7::uuid[], $8::int8[], $9::int8[],
          $10::int8[], $11::int4[], $12::int4[], $13::int4[], $14::int4[], $15::text[])
        AS s (hold_id, reason, upstream, cost, over, plan_cost, live_grant_id, ended_cost, forfeit,
          topup_cost, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, usage_source)
      WHERE h.id = s.hold_id
      RETURNING h.*, s.*
    ), settled AS (
      INSERT INTO billing.settlement (hold_id, account_id, project_id, key_id, request_id, model, upstream, reason, held, cost,
        plan_cost, live_grant_id, ended_cost, forfeit, grant_id, topup_cost, over, prompt_tokens, cached_tokens, output_tokens,
        reasoning_tokens, usage_source, price_version, input_price, cached_input_price, output_price, reserved_at, settled_at)
      SELECT hold_id, account_id, project_id, key_id, request_id, model, upstream, reason, amount, cost,
        plan_cost, live_grant_id, ended_cost, forfeit, grant_id, topup_cost, over, prompt_tokens, cached_tokens, output_tokens,
        reasoning_tokens, usage_source, price_version, input_price, cached_input_price, output_price, created_at, $16::timestamptz
      FROM closed RETURNING 1
    )
    SELECT billing.demand(count(*) = cardinality($1), 'a hold to end was not there') FROM settled`,
};

const BURY_HOLDS = {
  name: 'bury_holds',
  text: `INSERT INTO billing.settlement (hold_id, account_id, reason, upstream, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over,
      prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, settled_at)
    SELECT hold_id, account_id, reason, upstream, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $5::timestamptz
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS s (hold_id, account_id, reason, upstream)`,
};

const OPEN_HOLDS = {
  name: 'open_holds',
  text: `INSERT INTO billing.hold (id, account_id, project_id, key_id, request_id, model, amount, plan_part, grant_id,
      price_version, input_price, cached_input_price, output_price, lease_until, created_at)
    SELECT *, $15::timestamptz FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::int8[], $8::int8[],
      $9::uuid[], $10::int4[], $11::int8[], $12::int8[], $13::int8[], $14::timestamptz[])`,
};

const FORFEIT = {
  name: 'forfeit_grants',
  text: `INSERT INTO billing.movement (account_id, kind, amount, grant_id, idempotency_key, created_at)
    SELECT account_id, 'forfeit', amount, grant_id, 'forfeit:' || grant_id, $4::timestamptz
    FROM unnest($1::uuid[], $2::numeric[], $3::uuid[]) AS f (account_id, amount, grant_id)`,
};

const UPDATE_ACCOUNTS = {
  name: 'update_accounts',
  text: `WITH changed AS (
      UPDATE billing.account a SET topup = s.topup, topup_held = s.topup_held, plan = s.plan, plan_held = s.plan_held,
        expired = s.expired, grant_id = s.grant_id, grant_ends_at = CASE WHEN s.grant_id IS NULL THEN NULL ELSE a.grant_ends_at END,
        open_holds = s.open_holds
      FROM unnest($1::uuid[], $2::numeric[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[], $7::uuid[], $8::int4[])
        AS s (id, topup, topup_held, plan, plan_held, expired, grant_id, open_holds)
      WHERE a.id = s.id RETURNING 1
    )
    SELECT billing.demand(count(*) = cardinality($1), 'an account was not there') FROM changed`,
};

/** Limits are not written: an administrator may have changed them since. */
const UPDATE_PROJECTS = {
  name: 'update_projects',
  text: `WITH changed AS (
      UPDATE billing.project p SET open_holds = s.open_holds, request_window = s.request_window
      FROM unnest($1::uuid[], $2::int4[], $3::json[]) AS s (id, open_holds, request_window)
      WHERE p.id = s.id RETURNING 1
    )
    SELECT billing.demand(count(*) = cardinality($1), 'a project was not there') FROM changed`,
};

/**
 * Writes what a fold decided and commits: one round trip. If a statement fails, the server makes the COMMIT a rollback.
 * `now` is the batch's moment, in milliseconds.
 */
export async function writeRows(connection: PgConnection, rows: BatchRows, now: number): Promise<void> {
  const at = new Date(now).toISOString();
  const statements: Promise<unknown>[] = [];
  if (rows.settled.length > 0) statements.push(execute(connection, CLOSE_HOLDS, settledColumns(rows.settled, at)));
  if (rows.tombstones.length > 0) statements.push(execute(connection, BURY_HOLDS, tombstoneColumns(rows.tombstones, at)));
  if (rows.opened.length > 0) statements.push(execute(connection, OPEN_HOLDS, openedColumns(rows.opened, at)));
  if (rows.forfeits.length > 0) statements.push(execute(connection, FORFEIT, forfeitColumns(rows.forfeits, at)));
  if (rows.accounts.length > 0) statements.push(execute(connection, UPDATE_ACCOUNTS, accountColumns(rows.accounts)));
  if (rows.projects.length > 0) statements.push(execute(connection, UPDATE_PROJECTS, projectColumns(rows.projects)));
  await allOf([...statements, connection.query('COMMIT')]);
}

function settledColumns(settled: readonly Settlement[], at: string): unknown[] {
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
    settled.map((row) => (row.metered ? row.usage.source : null)),
    at,
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

function openedColumns(opened: readonly OpenedHold[], at: string): unknown[] {
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
    at,
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

function accountColumns(accounts: readonly AccountState[]): unknown[] {
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

function projectColumns(projects: readonly ProjectState[]): unknown[] {
  return [
    plainArray(projects.map((row) => row.projectId)),
    plainArray(projects.map((row) => row.openHolds)),
    projects.map((row) => JSON.stringify(row.requestWindow)),
  ];
}
