import { randomUUID } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import pg from 'pg';
import { createEmptyDatabase } from '#testing/test-database.js';
import { requiredVariable } from '#testing/test-environment.js';

const { applyMigrations, migrationsIn } = await import('../../../scripts/prisma/apply-migrations.mjs');
const FOLDER = 'prisma/migrations';
/** Newest migrations, which are broken off; the others are in the database before. */
const NEWEST = 8;

/** Schema and applied migrations as Postgres describes them, one line for each part. */
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
  ORDER BY line`;

const quiet = { say: () => undefined };

async function describeSchema(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(DESCRIPTION)).rows.map(({ line }) => line as string);
  } finally {
    await client.end();
  }
}

/** Applies the migrations and breaks the connection after statement number `last`. Returns false when there are fewer statements. */
async function migrateUntil(url: string, last: number): Promise<boolean> {
  const { query } = pg.Client.prototype;
  let sent = 0;
  const counting = jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const answer = (query as (...args: unknown[]) => unknown).apply(this, args);
    const isWatcher = `${args[0]}`.includes('pg_blocking_pids');
    if (!isWatcher && ++sent === last) (this as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    return answer;
  } as never);
  try {
    await applyMigrations(url, FOLDER, quiet);
    return sent >= last;
  } catch {
    return true;
  } finally {
    counting.mockRestore();
  }
}

/** Runs `work` with a new database that is a copy of `template`. */
async function withCopy(template: string, work: (url: string) => Promise<void>): Promise<void> {
  const url = Object.assign(new URL(requiredVariable('TEST_POSTGRES_URL')), { pathname: `/test_${randomUUID().replaceAll('-', '')}` });
  const server = new pg.Client({ connectionString: requiredVariable('TEST_POSTGRES_URL') });
  await server.connect();
  try {
    await server.query(`CREATE DATABASE ${url.pathname.slice(1)} TEMPLATE ${template}`);
    await work(url.href);
  } finally {
    await server.query(`DROP DATABASE IF EXISTS ${url.pathname.slice(1)} WITH (FORCE)`);
    await server.end();
  }
}

test('a run that is broken after any of its statements leaves what the next run completes', async () => {
  const older = mkdtempSync(join(tmpdir(), 'tollgate-migrations-'));
  for (const name of migrationsIn(FOLDER).slice(0, -NEWEST)) cpSync(join(FOLDER, name), join(older, name), { recursive: true });
  const template = await createEmptyDatabase();
  await applyMigrations(template.url.href, older, quiet);
  rmSync(older, { recursive: true });
  let expected: string[] = [];
  await withCopy(template.name, async (url) => {
    await applyMigrations(url, FOLDER, quiet);
    expected = await describeSchema(url);
  });
  let statements = 0;
  for (let isBroken = true; isBroken; ) {
    await withCopy(template.name, async (url) => {
      isBroken = await migrateUntil(url, statements + 1);
      if (isBroken) statements++;
      await applyMigrations(url, FOLDER, quiet);
      expect({ statements, schema: await describeSchema(url) }).toEqual({ statements, schema: expected });
    });
  }
  expect(statements).toBeGreaterThan(2 * NEWEST);
  await template.drop();
});
