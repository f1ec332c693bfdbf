import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import type { DatabaseService } from '../../../scripts/prisma/service-roles.mjs';
import { requiredVariable } from './test-environment.js';

const MIGRATIONS = new URL('../../../prisma/migrations/', import.meta.url);

export interface TestDatabase {
  /** The owner's: may do anything. */
  readonly url: string;
  /** As the service reaches it in production, with its own user and rights. */
  readonly serviceUrls: Record<DatabaseService, string>;
  drop(): Promise<void>;
}

/** A database of the test's own, with every migration applied and users of its own for the services. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = requiredVariable('TEST_POSTGRES_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await run(serverUrl, [`CREATE DATABASE ${name}`]);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await run(url.href, await migrations());
  const serviceUrls = { billing: withUser(url, `${name}_billing`), catalog: withUser(url, `${name}_catalog`) };
  const { ensureServiceRoles } = await import('../../../scripts/prisma/service-roles.mjs');
  const roles = await ensureServiceRoles(url.href, serviceUrls);
  const drop = [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, ...roles.map((role) => `DROP ROLE IF EXISTS ${role}`)];
  return { url: url.href, serviceUrls, drop: () => run(serverUrl, drop) };
}

function withUser(url: URL, username: string): string {
  return Object.assign(new URL(url), { username, password: 'test' }).href;
}

async function migrations(): Promise<string[]> {
  const entries = await readdir(MIGRATIONS, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(folders.sort().map((folder) => readFile(new URL(`${folder}/migration.sql`, MIGRATIONS), 'utf8')));
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
