import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { DatabaseService } from '../../../scripts/prisma/service-roles.mjs';
import { requiredVariable } from './test-environment.js';

const MIGRATIONS = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));

export interface TestDatabase {
  /** URL of the owner, who has all rights. */
  readonly url: string;
  /** URLs of the services, with the same rights as in production. */
  readonly serviceUrls: Record<DatabaseService, string>;
  drop(): Promise<void>;
}

/** Creates a database with every migration applied, and users for the services. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { name, url, migrate, drop: dropDatabase } = await createEmptyDatabase();
  await migrate();
  const serviceUrls = {
    billing: withUser(url, `${name}_billing`),
    catalog: withUser(url, `${name}_catalog`),
    panel: withUser(url, `${name}_panel`),
  };
  const { ensureServiceRoles } = await import('../../../scripts/prisma/service-roles.mjs');
  const roles = await ensureServiceRoles(url.href, serviceUrls);
  const drop = async (): Promise<void> => {
    await dropDatabase();
    const dropRoles = roles.map((role) => `DROP ROLE IF EXISTS ${role}`);
    await run(requiredVariable('TEST_POSTGRES_URL'), dropRoles);
  };
  return { url: url.href, serviceUrls, drop };
}

/** Creates an empty database. */
export async function createEmptyDatabase(): Promise<{ name: string; url: URL; migrate(): Promise<void>; drop(): Promise<void> }> {
  const serverUrl = requiredVariable('TEST_POSTGRES_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await run(serverUrl, [`CREATE DATABASE ${name}`]);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` });
  const migrate = async (): Promise<void> => {
    const { applyMigrations } = await import('../../../scripts/prisma/apply-migrations.mjs');
    await applyMigrations(url.href, MIGRATIONS);
  };
  return { name, url, migrate, drop: () => run(serverUrl, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`]) };
}

function withUser(url: URL, username: string): string {
  return Object.assign(new URL(url), { username, password: 'test' }).href;
}

async function run(connectionString: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
