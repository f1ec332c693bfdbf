import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '#contracts/service-error.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { TcpLink } from '#testing/tcp-link.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { orUnavailable } from './database-refusal.js';

let database: TestDatabase;
let link: TcpLink;
let prisma: PrismaClient;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  const url = new URL(database.url);
  link = await TcpLink.to(Number(url.port));
  prisma = createPrismaClient({
    url: Object.assign(url, { hostname: '127.0.0.1', port: String(link.port) }).href,
    applicationName: 'test',
    connectTimeoutMs: 300,
    connectionsMax: 2,
  });
});
afterEach(async () => {
  link.close();
  await prisma.$disconnect();
});
afterAll(() => database.drop());

function ask(sql = 'SELECT 1'): Promise<unknown> {
  return orUnavailable(prisma.$queryRawUnsafe(sql)).then(
    () => 'answered',
    (error: unknown) => (error instanceof ServiceError ? error.code : error),
  );
}

test('a database that refuses connections is unavailable', async () => {
  link.cut('refusal');
  expect(await ask()).toBe('unavailable');
});

test('a database nobody hears from is unavailable, for who connects and for who waits for a connection', async () => {
  link.cut('silence');
  expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual(['unavailable', 'unavailable', 'unavailable', 'unavailable']);
});

test('a connection that breaks under a question makes it unavailable, and the next one is answered', async () => {
  expect(await ask()).toBe('answered');
  const asked = ask('SELECT pg_sleep(5)::text');
  await delay(50);
  link.reset();
  expect(await asked).toBe('unavailable');
  expect(await ask()).toBe('answered');
});

test('a connection the server ends under a question makes it unavailable', async () => {
  expect(await ask()).toBe('answered');
  expect(await ask('SELECT pg_terminate_backend(pg_backend_pid())')).toBe('unavailable');
  expect(await ask()).toBe('answered');
});
