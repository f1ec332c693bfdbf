import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { DatabaseService } from '../../../scripts/prisma/service-roles.ts';
import { requiredVariable } from './test-environment.js';

const MIGRATIONS = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));
const GRANTS = fileURLToPath(new URL('../../../scripts/prisma/service-roles.ts', import.meta.url));
/** Advisory lock of the process that makes the template. */
const TEMPLATE_LOCK = 7_243_100;
let template: Promise<string> | undefined;

export interface TestDatabase {
  /** URL of the owner, who has all rights. */
  readonly url: string;
  /** URLs of the services, with the same rights as in production. */
  readonly serviceUrls: Record<DatabaseService, string>;
  drop(): Promise<void>;
}

/** Creates a database with every migration applied, and the rights of the services' users. */
export async function createTestDatabase(): Promise<TestDatabase> {
  template ??= makeTemplate();
  // Its files are copied, which takes half as long as writing them to the log first.
  const { url, drop } = await createDatabase(`TEMPLATE ${await template} STRATEGY file_copy`);
  return { url: url.href, serviceUrls: makeServiceUrls(url), drop };
}

/** Creates an empty database. */
export async function createEmptyDatabase(): Promise<Database & { migrate(): Promise<void> }> {
  const database = await createDatabase();
  const migrate = async (): Promise<void> => {
    const { applyMigrations } = await import('../../../scripts/prisma/apply-migrations.ts');
    await applyMigrations(database.url.href, MIGRATIONS);
  };
  return { ...database, migrate };
}

interface Database {
  name: string;
  url: URL;
  drop(): Promise<void>;
}

async function createDatabase(options = ''): Promise<Database> {
  const serverUrl = requiredVariable('TEST_POSTGRES_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await run(serverUrl, [`CREATE DATABASE ${name} ${options}`]);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` });
  return { name, url, drop: () => run(serverUrl, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`]) };
}

/**
 * Makes the database of which test databases are copies, unless the server has it, and returns its name. A copy takes a small part of the time
 * of all migrations. There is one for each state of the migrations and each day, because some make the partitions of the current months.
 */
async function makeTemplate(): Promise<string> {
  const name = `test_template_${await computeSchemaDigest()}_${new Date().toISOString().slice(0, 10).replaceAll('-', '')}`;
  await withClient(requiredVariable('TEST_POSTGRES_URL'), async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (rowCount !== 0) return;
    const draft = await createEmptyDatabase();
    await draft.migrate();
    const { ensureServiceRoles } = await import('../../../scripts/prisma/service-roles.ts');
    await ensureServiceRoles(draft.url.href, makeServiceUrls(draft.url));
    // No autovacuum connects to it then, for which a copy would wait.
    await client.query(`ALTER DATABASE ${draft.name} ALLOW_CONNECTIONS false`);
    await client.query(`ALTER DATABASE ${draft.name} RENAME TO ${name}`);
  });
  return name;
}

async function computeSchemaDigest(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(GRANTS));
  for (const file of (await readdir(MIGRATIONS, { recursive: true })).sort()) {
    if (file.endsWith('.sql')) hash.update(file).update(await readFile(join(MIGRATIONS, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** All test databases have the same users, because a copy has the rights of its template. */
function makeServiceUrls(url: URL): Record<DatabaseService, string> {
  return {
    billing: withUser(url, 'test_billing'),
    catalog: withUser(url, 'test_catalog'),
    panel: withUser(url, 'test_panel'),
    payments: withUser(url, 'test_payments'),
  };
}

function withUser(url: URL, username: string): string {
  return Object.assign(new URL(url), { username, password: 'test' }).href;
}

function run(connectionString: string, statements: string[]): Promise<void> {
  return withClient(connectionString, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
}

async function withClient(connectionString: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
