import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import pg from 'pg';
import { requiredVariable } from '#testing/test-environment.js';

const { applyMigrations, migrationsIn } = await import('../../../scripts/prisma/apply-migrations.mjs');
const FOLDER = 'prisma/migrations';
/** The first migration that is broken off; those before are in the database. */
const FIRST = '20261123120000_budgets';
const BROKEN = migrationsIn(FOLDER).filter((name) => name >= FIRST);

/**
 * Rows that the migrations from the one of that name on meet: tables that are altered, and journals of some months, so that each DO block,
 * VALIDATE and CREATE INDEX has something to read. Triggers and foreign keys are off, so no row is audited.
 */
const ROWS: Record<string, string> = {
  [FIRST]: `
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
      SELECT id, id, 'completed', 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, now() FROM ids WHERE n % 3 = 0`,
  '20261124150000_months': `
    INSERT INTO billing.budget (id, account_id, period, time_zone, limit_amount, spent, held, window_start, window_end)
      SELECT id, id, 'total', 'UTC', 1, 0, 0, '-infinity', 'infinity' FROM ids`,
  '20261125090000_journal_bound': `
    INSERT INTO billing.rate_limit (id, account_id, project_id, tokens_per_minute_max, open_holds) SELECT id, id, id, 1, 1 FROM ids`,
};
/** Ids of 20 rows over some months. */
const IDS = `CREATE TEMPORARY TABLE ids AS SELECT n,
  (lpad(to_hex(1780000000000 + n * 500000000), 12, '0') || '7000' || lpad(to_hex(n), 16, '0'))::uuid AS id FROM generate_series(1, 20::bigint) n`;
const FILLED = ['account', 'project', 'api_key', 'movement', 'hold', 'settlement', 'late_settlement'];

/** Schema, applied migrations and rows as Postgres describes them, one line for each part. */
const DESCRIPTION = `
  SELECT format('column %s.%s.%s %s %s %s', table_schema, table_name, column_name, data_type, column_default, is_nullable) AS line
    FROM information_schema.columns WHERE table_schema IN ('billing', 'journal', 'catalog', 'panel', 'activity')
  UNION ALL SELECT format('constraint %s %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
    FROM pg_constraint WHERE connamespace::regnamespace::text IN ('billing', 'journal', 'catalog', 'panel', 'activity')
  UNION ALL SELECT format('index %s %s', pg_get_indexdef(indexrelid), indisvalid)
    FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relnamespace::regnamespace::text IN ('billing', 'journal', 'catalog', 'panel', 'activity')
  UNION ALL SELECT format('partition %s %s %s', inhparent::regclass, inhrelid::regclass, pg_get_expr(relpartbound, inhrelid))
    FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r'
  UNION ALL SELECT format('trigger %s', pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT format('rights %s %s', oid::regclass, relacl)
    FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace::regnamespace::text IN ('billing', 'journal')
  UNION ALL SELECT format('function %s', pg_get_functiondef(oid))
    FROM pg_proc WHERE pronamespace::regnamespace::text IN ('billing', 'journal', 'catalog', 'panel', 'activity')
  UNION ALL SELECT format('migration %s', migration_name) FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL
  ${FILLED.map((table) => `UNION ALL SELECT format('row of ${table} %s', to_jsonb(t)) FROM billing.${table} t`).join('\n  ')}
  ORDER BY line`;

const quiet = { say: () => undefined };

/** Runs `work` with a connection to the database. */
async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const describeSchema = (url: string) =>
  connected(url, async (client) => (await client.query(DESCRIPTION)).rows.map(({ line }) => line as string));

const addRows = (url: string, rows: string) =>
  connected(url, (client) => client.query(`SET session_replication_role = replica; ${IDS}; ${rows}`));

/** Applies the migrations and breaks the connection after statement number `last`. Returns false when there are fewer statements. */
async function migrateUntil(url: string, folder: string, last: number): Promise<boolean> {
  const { query } = pg.Client.prototype;
  let sent = 0;
  const counting = jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const answer = (query as (...args: unknown[]) => unknown).apply(this, args);
    const isWatcher = `${args[0]}`.includes('pg_blocking_pids');
    if (!isWatcher && ++sent === last) (this as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    return answer;
  } as never);
  try {
    await applyMigrations(url, folder, quiet);
    return sent >= last;
  } catch {
    return true;
  } finally {
    counting.mockRestore();
  }
}

/** Creates a database that is a copy of another. */
async function copyOf(template: string): Promise<{ name: string; url: string; drop(): Promise<unknown> }> {
  const serverUrl = requiredVariable('TEST_POSTGRES_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const onServer = (sql: string) => connected(serverUrl, (client) => client.query(sql));
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  return { name, url, drop: () => onServer(`DROP DATABASE ${name} WITH (FORCE)`) };
}

describe('a run that is broken after any of its statements leaves what the next run completes', () => {
  let folder: string;
  let before: Awaited<ReturnType<typeof copyOf>>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-migrations-'));
    for (const name of migrationsIn(FOLDER).filter((one) => one < FIRST))
      cpSync(join(FOLDER, name), join(folder, name), { recursive: true });
    before = await copyOf('template1');
    await applyMigrations(before.url, folder, quiet);
  });
  afterAll(async () => {
    await before.drop();
    rmSync(folder, { recursive: true });
  });

  // Each migration starts from the database that those before have left.
  test.each(BROKEN)('%s', async (name) => {
    if (ROWS[name] !== undefined) await addRows(before.url, ROWS[name]);
    cpSync(join(FOLDER, name), join(folder, name), { recursive: true });
    const after = await copyOf(before.name);
    await applyMigrations(after.url, folder, quiet);
    const expected = await describeSchema(after.url);
    let statements = 0;
    for (let isBroken = true; isBroken; ) {
      const copy = await copyOf(before.name);
      isBroken = await migrateUntil(copy.url, folder, statements + 1);
      if (isBroken) statements++;
      await applyMigrations(copy.url, folder, quiet);
      expect({ statements, schema: await describeSchema(copy.url) }).toEqual({ statements, schema: expected });
      await copy.drop();
    }
    expect(statements).toBeGreaterThan(2);
    await before.drop();
    before = after;
  });
});
