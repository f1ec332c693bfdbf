import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ServiceError } from '#contracts/service-error.js';
import { asUnavailable } from '#database/database-outage.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { TcpLink } from '#testing/tcp-link.js';
import { createTestDatabase } from '#testing/test-database.js';

let link: TcpLink;
let prisma: PrismaClient;

const database = await createTestDatabase();
beforeEach(async () => {
  const url = new URL(database.url);
  link = await TcpLink.to(Number(url.port));
  prisma = createPrismaClient({
    url: Object.assign(url, { hostname: '127.0.0.1', port: String(link.port) }).href,
    applicationName: 'test',
    connectTimeoutMs: 2_000,
    connectionsMax: 2,
  });
});
afterEach(async () => {
  link.close();
  await prisma.$disconnect();
});
afterAll(() => database.drop());

function ask(sql = 'SELECT 1'): Promise<unknown> {
  return prisma.$queryRawUnsafe(sql).then(
    () => 'answered',
    (error: unknown) => readCode(asUnavailable(error, 'away')),
  );
}

function readCode(error: unknown): unknown {
  return error instanceof ServiceError ? error.code : error;
}

/** Resolves when the server runs the query. */
async function underWay(question: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const running = `SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE $1 AND pid <> pg_backend_pid()`;
  while ((await client.query(running, [question])).rowCount === 0) await delay(5);
  await client.end();
}

test('a database that refuses connections is unavailable', async () => {
  link.cut('refusal');
  expect(await ask()).toBe('unavailable');
});

test('a database that does not answer is unavailable, for a new connection and for a caller waiting for one', async () => {
  link.cut('silence');
  expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual(['unavailable', 'unavailable', 'unavailable', 'unavailable']);
});

test('a connection that breaks during a query makes it unavailable, and the next query succeeds', async () => {
  expect(await ask()).toBe('answered');
  const asked = ask('SELECT pg_sleep(20)::text');
  await underWay('%pg_sleep(20)::text%');
  link.reset();
  expect(await asked).toBe('unavailable');
  expect(await ask()).toBe('answered');
});

test('a transaction that finds all connections of the pool in use is unavailable', async () => {
  const isUp = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  let begun = 0;
  const long = (): Promise<void> =>
    prisma.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1`;
      if (++begun === 2) isUp.resolve();
      await isOver.promise;
    });
  const both = [long(), long()];
  await isUp.promise;
  const refused = await prisma
    .$transaction(async (tx) => tx.$queryRaw`SELECT 1`, { maxWait: 50 })
    .then(
      () => undefined,
      (error: unknown) => asUnavailable(error, 'away') as ServiceError & { cause: { code?: string } },
    );
  isOver.resolve();
  await Promise.all(both);
  expect([refused?.code, refused?.cause.code]).toEqual(['unavailable', 'P2028']);
});

test('a connection that the server ends during a query makes it unavailable', async () => {
  expect(await ask()).toBe('answered');
  expect(await ask('SELECT pg_terminate_backend(pg_backend_pid())')).toBe('unavailable');
  expect(await ask()).toBe('answered');
});
