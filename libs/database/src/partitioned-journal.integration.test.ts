import { randomUUIDv7 } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createEmptyDatabase } from '#testing/test-database.js';

const { applyMigrations, migrationsIn } = await import('../../../scripts/prisma/apply-migrations.mjs');
const FOLDER = 'prisma/migrations';
/** The first of the migrations that partition the journals of settlements. */
const FIRST = '20261125090000_journal_bound';
const ROWS = 5_000;
/** Milliseconds that another session keeps a snapshot of the journals open. */
const SNAPSHOT_MS = 1_500;

let older: string;
let url: string;
let sql: pg.Client;
let role: string;
let drop: () => Promise<void>;

beforeAll(() => {
  older = mkdtempSync(join(tmpdir(), 'tollgate-migrations-'));
  for (const name of migrationsIn(FOLDER).filter((one) => one < FIRST)) cpSync(join(FOLDER, name), join(older, name), { recursive: true });
});
afterAll(() => rmSync(older, { recursive: true }));

/** A journal of some months, with tombstones and late settlements, and a role with the rights of billing. */
beforeEach(async () => {
  const database = await createEmptyDatabase();
  url = database.url.href;
  drop = database.drop;
  await applyMigrations(url, older);
  sql = await connect('test');
  role = `${database.name}_billing`;
  await sql.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA billing TO ${role};
    GRANT SELECT, INSERT ON billing.settlement, billing.late_settlement TO ${role}`);
  await sql.query(
    `INSERT INTO billing.settlement (hold_id, account_id, project_id, reason, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over,
       prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, settled_at)
     SELECT (lpad(to_hex(1780000000000 + n * 1000000), 12, '0') || '7000' || lpad(to_hex(n), 16, '0'))::uuid, gen_random_uuid(),
       CASE WHEN n % 10 > 0 THEN gen_random_uuid() END, 'lease-expired', 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, now() FROM generate_series(1, $1::bigint) n`,
    [ROWS],
  );
  await sql.query(
    `INSERT INTO billing.late_settlement (hold_id, account_id, reason, held, billed, due, plan_cost, topup_cost, writeoff, over, prompt_tokens,
       cached_tokens, output_tokens, reasoning_tokens, settled_at)
     SELECT hold_id, account_id, 'completed', 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, now() FROM billing.settlement LIMIT 100`,
  );
});
afterEach(async () => {
  await sql.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await sql.end();
  await drop();
});

async function connect(name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: name });
  await client.connect();
  return client;
}

async function all(query: string): Promise<unknown[]> {
  return (await sql.query(query)).rows;
}

const insertRow = (client: pg.Client, holdId: string) =>
  client.query(
    `INSERT INTO billing.settlement (hold_id, account_id, reason, held, cost, plan_cost, ended_cost, forfeit, topup_cost, over, prompt_tokens,
       cached_tokens, output_tokens, reasoning_tokens, settled_at) VALUES ($1, gen_random_uuid(), 'released', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, now())`,
    [holdId],
  );

/** Columns and checks that later migrations add. */
const LATER = {
  columns:
    'attribution, cache_write_1h_price, cache_write_1h_tokens, cache_write_price, cache_write_tokens, image_price, images, price_plan, request_price',
  checks: '^(late_)?settlement_cache_writes_within_prompt$',
};

const rowsOf = (journal: string) =>
  all(`SELECT to_jsonb(j) - '{${LATER.columns}}'::text[] AS row FROM billing.${journal} j ORDER BY hold_id`);
const journals = async () => ({ settlements: await rowsOf('settlement'), late: await rowsOf('late_settlement') });

const definitions = (schema: string, table: string) =>
  all(`SELECT replace(pg_get_constraintdef(oid), ' NOT VALID', '') AS text FROM pg_constraint WHERE conrelid = '${schema}.${table}'::regclass AND contype IN ('c', 'p')
      AND conname !~ '${LATER.checks}'
    UNION ALL SELECT regexp_replace(pg_get_indexdef(indexrelid), '^CREATE (\\w+ )?INDEX \\S+ ON (ONLY )?\\S+ ', '\\1')
      FROM pg_index WHERE indrelid = '${schema}.${table}'::regclass
    UNION ALL SELECT regexp_replace(pg_get_triggerdef(oid), ' ON \\S+ ', ' ') FROM pg_trigger
      WHERE tgrelid = '${schema}.${table}'::regclass AND NOT tgisinternal
    ORDER BY text`);

test('a filled journal becomes partitions without a copy of its rows: the same rows, rules and rights', async () => {
  const before = await journals();
  const file = await all(`SELECT pg_relation_filenode('billing.settlement') AS file`);
  const rules = { settlement: await definitions('billing', 'settlement'), late: await definitions('billing', 'late_settlement') };
  await applyMigrations(url, FOLDER);

  expect(await journals()).toEqual(before);
  const parts = (await all(`SELECT right(relname, 7) AS month FROM pg_class WHERE relnamespace = 'journal'::regnamespace AND relkind = 'r'
    AND relname ~ '^settlement_' ORDER BY relname`)) as { month: string }[];
  const names = parts.map(({ month }) => month);
  expect(names).toHaveLength(4);
  expect(await all(`SELECT pg_relation_filenode('journal.settlement_${names[0]}') AS file`)).toEqual(file);
  for (const part of ['billing.settlement', ...names.map((month) => `journal.settlement_${month}`)])
    expect(await definitions(...(part.split('.') as [string, string]))).toEqual(rules.settlement);
  for (const part of ['billing.late_settlement', ...names.map((month) => `journal.late_settlement_${month}`)])
    expect(await definitions(...(part.split('.') as [string, string]))).toEqual(rules.late);
  expect(await all(`SELECT conname FROM pg_constraint WHERE conrelid::regclass::text ~ 'settlement' AND NOT convalidated`)).toEqual([]);
  await sql.query(`SET ROLE ${role}`);
  await insertRow(sql, randomUUIDv7());
  await expect(sql.query('DELETE FROM billing.settlement')).rejects.toMatchObject({ code: '42501' });
  await sql.query('RESET ROLE');
});

test('beside an open snapshot and writes: every write is kept and none fails', async () => {
  const reader = await connect('a-long-report');
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM billing.settlement, billing.late_settlement LIMIT 1');
  const closed = delay(SNAPSHOT_MS).then(() => reader.end());
  const writer = await connect('writer');
  let written = 0;
  let migrating = true;
  const writing = (async () => {
    for (; migrating; written++) await insertRow(writer, randomUUIDv7());
  })();
  await applyMigrations(url, FOLDER, { say: () => undefined });
  migrating = false;
  await Promise.all([writing, closed]);
  await writer.end();
  expect(await all('SELECT count(*)::int AS count FROM billing.settlement')).toEqual([{ count: ROWS + written }]);
});

test('a journal with ids that are of no time becomes one partition', async () => {
  await insertRow(sql, 'f0000000-0000-4000-8000-000000000000');
  const before = await journals();
  await applyMigrations(url, FOLDER);
  expect(await journals()).toEqual(before);
  expect(
    await all(`SELECT inhrelid::regclass::text AS part, pg_get_expr(relpartbound, inhrelid) AS ids FROM pg_inherits JOIN pg_class ON oid = inhrelid
      WHERE inhparent = 'billing.settlement'::regclass ORDER BY 1`),
  ).toEqual([
    { part: 'journal.settlement_all', ids: 'FOR VALUES FROM (MINVALUE) TO (MAXVALUE)' },
    { part: 'journal.settlement_default', ids: 'DEFAULT' },
  ]);
  expect(await all('SELECT * FROM billing.keep_months(3)')).toEqual([{ added: [], outside: '0' }]);
});
