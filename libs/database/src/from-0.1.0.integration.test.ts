import { readFileSync } from 'node:fs';
import pg from 'pg';
import { describeSchema } from '#testing/describe-schema.js';
import { createEmptyDatabase, createTestDatabase } from '#testing/test-database.js';
import { createDatabaseOf010, rowsOf010 } from '#testing/version-0.1.0.js';

const { applyMigrations, migrationsIn } = await import('../../../scripts/prisma/apply-migrations.ts');
const { splitCost } = await import('../../../scripts/prisma/from-0.1.0.ts');
const FOLDER = 'prisma/migrations';
/** Migrations that builds between version 0.1.0 and the baselines had. */
const LATER = [...splitCost(readFileSync('scripts/prisma/from-0.1.0.sql', 'utf8'))].filter(([name]) => /^\d{14}_/.test(name));

let cleanUps: (() => Promise<unknown>)[];
beforeEach(() => {
  cleanUps = [];
});
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

async function connect({ url, drop }: { url: URL; drop(): Promise<void> }): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  cleanUps.push(drop, () => client.end());
  return client;
}

test.each([
  ['version 0.1.0', LATER.slice(0, 0)],
  ['the last build before the baselines', LATER],
])('a database of %s gets the schema of a new one and keeps its rows', async (_, later) => {
  const fresh = await createEmptyDatabase();
  const [database] = await Promise.all([createDatabaseOf010(new Map(later)), fresh.migrate()]);
  const sql = await connect(database);
  const before = await rowsOf010(sql);
  expect(await applyMigrations(database.url.href, FOLDER)).toEqual(migrationsIn(FOLDER));
  expect(await describeSchema(sql)).toEqual(await describeSchema(await connect(fresh)));
  expect(await rowsOf010(sql)).toMatchObject(before);
  expect(await applyMigrations(database.url.href, FOLDER)).toEqual([]);
});

test('a database with other migrations is refused with one line, and stays as it is', async () => {
  const database = await createTestDatabase();
  const sql = await connect({ url: new URL(database.url), drop: database.drop });
  await sql.query(
    "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('1', '', '20261121000000_billing', now())",
  );
  const before = await describeSchema(sql);
  await expect(applyMigrations(database.url, FOLDER)).rejects.toThrow(
    'its migrations are not those of version 0.1.0: migrate it with that version first, or use an empty database',
  );
  expect(await describeSchema(sql)).toEqual(before);
});
