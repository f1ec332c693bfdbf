import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import pg from 'pg';
import { requiredVariable } from '#testing/test-environment.js';

const run = promisify(execFile);
const serverUrl = requiredVariable('TEST_POSTGRES_URL');
const name = `test_${randomUUID().replaceAll('-', '')}`;
/** One user who owns the database and may not create others, as customers often have it. */
const single = url(`${name}_owner`);
const service = url(`${name}_service`);

function url(username: string): string {
  return Object.assign(new URL(serverUrl), { username, password: 'test', pathname: `/${name}` }).href;
}

async function onServer(...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

beforeAll(() => onServer(`CREATE ROLE ${name}_owner LOGIN PASSWORD 'test'`, `CREATE DATABASE ${name} OWNER ${name}_owner`));
afterAll(() => onServer(`DROP DATABASE ${name} WITH (FORCE)`, `DROP ROLE ${name}_owner`, `DROP ROLE IF EXISTS ${name}_service`));

async function migrate(environment: Record<string, string>): Promise<string> {
  const env = { PATH: process.env.PATH, NODE_OPTIONS: '', ...environment };
  const { stdout } = await run(process.execPath, ['scripts/prisma/migrate-deploy.ts'], { env });
  return stdout;
}

async function select(connectionString: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test('a run killed between a migration and its record leaves neither, and the next run goes on', async () => {
  const other = new pg.Client({ connectionString: single });
  await other.connect();
  // The state of an interrupted `prisma migrate deploy`: started, not finished.
  await other.query(`CREATE TABLE _prisma_migrations (id VARCHAR(36) PRIMARY KEY, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ,
    migration_name VARCHAR(255) NOT NULL, logs TEXT, rolled_back_at TIMESTAMPTZ, started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0)`);
  await other.query("INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('1', '', '20261128143000_billing')");
  await other.query('BEGIN');
  await other.query('LOCK TABLE _prisma_migrations IN EXCLUSIVE MODE'); // may be read, not written
  const killed = spawn(process.execPath, ['scripts/prisma/migrate-deploy.ts'], { env: { DATABASE_URL: single, NODE_OPTIONS: '' } });
  const ended = once(killed, 'exit');
  const waiting = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database WHERE datname = '${name}' AND NOT granted`;
  while ((await select(serverUrl, waiting)).length === 0) expect(killed.exitCode).toBeNull();
  killed.kill('SIGKILL');
  await ended;
  await other.query('ROLLBACK');
  await other.end();
  expect(await select(single, "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'billing'")).toEqual([]);
});

test('a single user without CREATEROLE can migrate, migrate again, and run the services', async () => {
  expect(await migrate({ DATABASE_URL: single })).toMatch(/^migrated: \S+_billing, /);
  expect(await migrate({ DATABASE_URL: single, BILLING_DATABASE_URL: single, CATALOG_DATABASE_URL: '' })).toBe(
    'migrated: nothing pending\n',
  );
  expect(await select(single, 'SELECT count(*)::int AS accounts FROM billing.account')).toEqual([{ accounts: 0 }]);
});

test('without CREATEROLE a missing service user is an error; once created it gets its rights', async () => {
  const environment = { DATABASE_URL: single, BILLING_DATABASE_URL: service };
  await expect(migrate(environment)).rejects.toMatchObject({
    code: 1,
    stderr: `database users failed: the database has no user ${name}_service, and the migrating user may not create it: create it, or grant CREATEROLE\n`,
  });
  await onServer(`CREATE ROLE ${name}_service LOGIN PASSWORD 'test'`);
  expect(await migrate(environment)).toBe(`database users: ${name}_service\nmigrated: nothing pending\n`);
  expect(await select(service, 'SELECT count(*)::int AS accounts FROM billing.account')).toEqual([{ accounts: 0 }]);
  await expect(select(service, 'DELETE FROM billing.account')).rejects.toMatchObject({ code: '42501' });
});

test('an older version leaves the rights of a newer one', async () => {
  await select(
    single,
    "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('2', '', '29990101000000', now())",
  );
  await select(single, `GRANT DELETE ON billing.account TO ${name}_service`);
  expect(await migrate({ DATABASE_URL: single, BILLING_DATABASE_URL: service })).toBe(
    'database users: unchanged, because the database is newer than this version\nmigrated: nothing pending\n',
  );
  expect(await select(service, 'DELETE FROM billing.account RETURNING id')).toEqual([]);
});
