import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import pg from 'pg';
import { describeSchema } from '#testing/describe-schema.js';
import { createEmptyDatabase } from '#testing/test-database.js';
import { requiredVariable } from '#testing/test-environment.js';
import { createDatabaseOf010, rowsOf010 } from '#testing/version-0.1.0.js';

const { applyMigrations } = await import('../../../scripts/prisma/apply-migrations.ts');
const FOLDER = 'prisma/migrations';

/** Migrations of each kind. */
const ADDED = {
  '20991231000000_added': 'ALTER TABLE billing.settlement ADD COLUMN added integer, ADD CONSTRAINT added_check CHECK (added > 0) NOT VALID',
  '20991231000001_index': '-- online\nCREATE INDEX CONCURRENTLY IF NOT EXISTS account_added ON billing.account (name)',
  '20991231000002_journal_index': '-- online\nCREATE INDEX CONCURRENTLY IF NOT EXISTS settlement_added ON billing.settlement (added)',
  '20991231000003_check': '-- online\nALTER TABLE billing.settlement VALIDATE CONSTRAINT added_check',
  '20991231000004_batches': `-- online\nDO $$ BEGIN LOOP
    UPDATE billing.hold SET model = 'added' WHERE id IN (SELECT id FROM billing.hold WHERE model <> 'added' LIMIT 5);
    EXIT WHEN NOT FOUND;
    COMMIT;
  END LOOP; END $$`,
};

const quiet = { say: () => undefined };

/** Schema and rows. */
async function describeDatabase(url: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return [await describeSchema(client), await rowsOf010(client)];
  } finally {
    await client.end();
  }
}

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
async function copyDatabase(template: string): Promise<{ url: string; drop(): Promise<unknown> }> {
  const serverUrl = requiredVariable('TEST_POSTGRES_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const onServer = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    await client.query(sql);
    await client.end();
  };
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  return { url, drop: () => onServer(`DROP DATABASE ${name} WITH (FORCE)`) };
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-migrations-'));
  cpSync(FOLDER, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

async function movedDatabase(): ReturnType<typeof createDatabaseOf010> {
  const database = await createDatabaseOf010();
  await applyMigrations(database.url.href, FOLDER);
  return database;
}

test.each([
  ['an empty database', createEmptyDatabase, {}],
  ['a database of version 0.1.0', createDatabaseOf010, {}],
  ['a database with rows, and migrations of each kind', movedDatabase, ADDED],
])('%s: a run that is broken after any of its statements leaves what the next run completes', async (_, create, added) => {
  const before = await create();
  for (const [name, sql] of Object.entries<string>(added)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'migration.sql'), sql);
  }
  const after = await copyDatabase(before.name);
  await applyMigrations(after.url, folder, quiet);
  const expected = await describeDatabase(after.url);
  await after.drop();
  let statements = 0;
  for (let isBroken = true; isBroken; ) {
    const copy = await copyDatabase(before.name);
    isBroken = await migrateUntil(copy.url, folder, statements + 1);
    if (isBroken) statements++;
    await applyMigrations(copy.url, folder, quiet);
    expect({ statements, database: await describeDatabase(copy.url) }).toEqual({ statements, database: expected });
    await copy.drop();
  }
  expect(statements).toBeGreaterThan(8);
  await before.drop();
});
