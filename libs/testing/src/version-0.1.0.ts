import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { createEmptyDatabase } from './test-database.js';

/** The migrations of version 0.1.0, each after a line with its name. */
const ARCHIVE = fileURLToPath(new URL('./__fixtures__/migrations-0.1.0.sql.gz', import.meta.url));

/** Ids of 20 rows over some months. */
const IDS = `CREATE TEMPORARY TABLE ids AS SELECT n,
  (lpad(to_hex(1780000000000 + n * 500000000), 12, '0') || '7000' || lpad(to_hex(n), 16, '0'))::uuid AS id FROM generate_series(1, 20::bigint) n`;

/** Rows of the tables that the move alters, and journals of some months. Triggers and foreign keys are off, so no row is audited. */
const ROWS = `
  INSERT INTO billing.account (id, name, topup) SELECT id, 'a', 100 FROM ids;
  INSERT INTO billing.project (id, account_id, name, requests_per_minute_max, concurrency_max) SELECT id, id, 'p', 1, 1 FROM ids;
  INSERT INTO billing.api_key (id, project_id, digest, last_four) SELECT id, id, sha256(id::text::bytea), 'last' FROM ids;
  INSERT INTO billing.movement (id, account_id, kind, amount, idempotency_key, reason)
    SELECT id, id, CASE WHEN n % 2 = 0 THEN 'topup' ELSE 'credit' END, 1, n, 'r' FROM ids;
  INSERT INTO billing.hold (id, account_id, project_id, key_id, request_id, model, amount, plan_part, price_version, input_price,
      cached_input_price, output_price, lease_until, created_at)
    SELECT id, id, id, id, n, 'm', 0, 0, 1, 1, 1, 1, 'infinity', now() FROM ids;
  INSERT INTO billing.settlement (hold_id, account_id, project_id, reason, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over,
      prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, settled_at)
    SELECT id, id, CASE WHEN n % 5 > 0 THEN id END, 'lease-expired', 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, now() FROM ids;
  INSERT INTO billing.late_settlement (hold_id, account_id, reason, held, billed, due, plan_cost, topup_cost, writeoff, over, prompt_tokens,
      cached_tokens, output_tokens, reasoning_tokens, settled_at)
    SELECT id, id, 'completed', 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, now() FROM ids WHERE n % 3 = 0;
  INSERT INTO billing.budget (id, account_id, period, time_zone, limit_amount, spent, held, window_start, window_end)
    SELECT id, id, 'total', 'UTC', 1, 0, 0, '-infinity', 'infinity' FROM ids;
  INSERT INTO billing.rate_limit (id, account_id, project_id, tokens_per_minute_max, open_holds) SELECT id, id, id, 1, 1 FROM ids;
  INSERT INTO billing.webhook (id, url) SELECT id, 'https://example.com' FROM ids;
  INSERT INTO catalog.price (model_id, version, input_price, cached_input_price, output_price) SELECT id, 1, 1, 1, 1 FROM ids;
  INSERT INTO panel."user" (id, email, name, password_hash) SELECT id, id || '@example.com', 'n', '$argon2id$' FROM ids`;

const TABLES = [
  ...['account', 'project', 'api_key', 'movement', 'hold', 'settlement', 'late_settlement', 'budget', 'rate_limit', 'webhook'].map(
    (name) => `billing.${name}`,
  ),
  ...['catalog.price', 'panel."user"'],
];

/** Creates a database of version 0.1.0 with rows, and applies the migrations `later` to it. */
export async function createDatabaseOf010(later = new Map<string, string>()): ReturnType<typeof createEmptyDatabase> {
  const { applyMigrations } = await import('../../../scripts/prisma/apply-migrations.ts');
  const { splitCost } = await import('../../../scripts/prisma/from-0.1.0.ts');
  const database = await createEmptyDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-migrations-'));
  for (const [name, sql] of [...splitCost(gunzipSync(readFileSync(ARCHIVE)).toString()), ...later]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'migration.sql'), sql);
  }
  await applyMigrations(database.url.href, folder);
  rmSync(folder, { recursive: true });
  const client = new pg.Client({ connectionString: database.url.href });
  await client.connect();
  await client.query(`SET session_replication_role = replica; ${IDS}; ${ROWS}`);
  await client.end();
  return database;
}

/** Rows that `createDatabaseOf010` has added, without empty columns. */
export async function rowsOf010(client: pg.Client): Promise<unknown[]> {
  const sql = TABLES.map((table) => `SELECT '${table}' AS name, jsonb_strip_nulls(to_jsonb(t)) AS columns FROM ${table} t`).join(
    ' UNION ALL ',
  );
  const order = "name, coalesce(columns ->> 'id', columns ->> 'hold_id', columns ->> 'model_id')";
  return (await client.query(`SELECT * FROM (${sql}) AS r ORDER BY ${order}`)).rows;
}
