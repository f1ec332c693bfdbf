import { readdirSync } from 'node:fs';
import pg from 'pg';
import { createEmptyDatabase, createTestDatabase } from '#testing/test-database.js';
import { createPrismaClient, type PrismaClient } from './prisma-client.js';
import { schemaReadiness } from './schema-readiness.js';

const MIGRATIONS = readdirSync('prisma/migrations').filter((name) => /^\d/.test(name));
const [FIRST] = MIGRATIONS;
const LAST = MIGRATIONS.at(-1) as string;

let cleanUps: (() => Promise<unknown>)[];
let now: number;
const clock = performance.now;
beforeEach(() => {
  cleanUps = [];
  now = 0;
  performance.now = () => now;
});
afterEach(async () => {
  performance.now = clock;
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

function makeClient(url: string): PrismaClient {
  const prisma = createPrismaClient({ url, applicationName: 'test' });
  cleanUps.push(() => prisma.$disconnect());
  return prisma;
}

/** Creates a migrated database with a connection of the owner and one of a service. */
async function migrated(): Promise<{ owner: pg.Client; service: PrismaClient }> {
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  cleanUps.push(() => owner.end());
  return { owner, service: makeClient(database.serviceUrls.catalog) };
}

async function ask({ check, detail }: ReturnType<typeof schemaReadiness>): Promise<[boolean, string | undefined]> {
  return [await check(), detail()];
}

test('an empty database: the first migration is named, and the check passes after the migration', async () => {
  const database = await createEmptyDatabase();
  cleanUps.push(() => database.drop());
  const readiness = schemaReadiness(makeClient(database.url.href));
  expect(await ask(readiness)).toEqual([false, `migration ${FIRST} is missing, and ${MIGRATIONS.length - 1} after it`]);
  await database.migrate();
  now += 1_000;
  expect(await ask(readiness)).toEqual([true, undefined]);
});

test('a database of an earlier version: the missing migration is named', async () => {
  const { owner, service } = await migrated();
  await owner.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [LAST]);
  expect(await ask(schemaReadiness(service))).toEqual([false, `migration ${LAST} is missing`]);
});

test('a migration that was not finished, or was rolled back, is missing', async () => {
  const { owner, service } = await migrated();
  await owner.query('UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = $1', [LAST]);
  expect(await ask(schemaReadiness(service))).toEqual([false, `migration ${LAST} is missing`]);
  await owner.query('UPDATE _prisma_migrations SET finished_at = now(), rolled_back_at = now() WHERE migration_name = $1', [LAST]);
  expect(await ask(schemaReadiness(service))).toEqual([false, `migration ${LAST} is missing`]);
});

test('a database of a later version is ready, and the unknown migration is named', async () => {
  const { service } = await migrated();
  const readiness = schemaReadiness(service, MIGRATIONS.slice(0, -1));
  expect(await ask(readiness)).toEqual([true, `the database is newer than this version: ${LAST}`]);
});

test('a database that a later version has taken something from is not ready for this version, and ready for one with what it needs', async () => {
  const { owner, service } = await migrated();
  const [needed, removal] = ['20990101000000_new_column', '20990201000000_old_column_needs_20990101000000'];
  for (const name of [needed, removal])
    await owner.query(
      "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES (gen_random_uuid(), '', $1, now())",
      [name],
    );
  const text = `the database is newer than this version can serve: ${removal}`;
  expect(await ask(schemaReadiness(service))).toEqual([false, text]);
  const next = schemaReadiness(service, [...MIGRATIONS, needed]);
  expect(await ask(next)).toEqual([true, `the database is newer than this version: ${removal}`]);
});

test('a user without rights yet is reported as a missing migration', async () => {
  const { owner, service } = await migrated();
  const [{ current_user: user } = { current_user: '' }] = await service.$queryRaw<{ current_user: string }[]>`SELECT current_user`;
  await owner.query(`REVOKE ALL (migration_name, finished_at, rolled_back_at) ON _prisma_migrations FROM ${user}`);
  expect(await ask(schemaReadiness(service))).toEqual([false, `migration ${FIRST} is missing, and ${MIGRATIONS.length - 1} after it`]);
});

test('the database is read once a second until the schema is complete, then once a minute', async () => {
  const { owner, service } = await migrated();
  let reads = 0;
  const counting = {
    $queryRaw: (...query: Parameters<PrismaClient['$queryRaw']>) => {
      if (String(query[0]).includes('migration_name AS name')) reads++;
      return service.$queryRaw(...query);
    },
  } as unknown as PrismaClient;
  await owner.query('UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = $1', [LAST]);
  const readiness = schemaReadiness(counting);
  const readsAt = async (milliseconds: number): Promise<[number, boolean]> => {
    now = milliseconds;
    const [ready] = await Promise.all([readiness.check(), readiness.check()]);
    return [reads, ready];
  };
  const seen = [await readsAt(0), await readsAt(999)];
  await owner.query('UPDATE _prisma_migrations SET rolled_back_at = NULL');
  seen.push(await readsAt(1_000), await readsAt(60_999), await readsAt(61_000));
  expect(seen).toEqual([
    [1, false],
    [1, false],
    [2, true],
    [2, true],
    [3, true],
  ]);
});
