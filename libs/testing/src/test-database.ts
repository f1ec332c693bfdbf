import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import pg from 'pg';
import { requiredVariable } from './test-environment.js';

const MIGRATIONS = new URL('../../../prisma/migrations/', import.meta.url);

export interface TestDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A database of the test's own, with every migration applied. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const serverUrl = requiredVariable('TEST_POSTGRES_URL');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await run(serverUrl, [`CREATE DATABASE ${name}`]);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await run(url.href, await migrations());
  return { url: url.href, drop: () => run(serverUrl, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`]) };
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
