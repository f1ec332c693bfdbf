import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { createEmptyDatabase } from '#testing/test-database.js';
import { createPrismaClient } from './prisma-client.js';

const database = await createEmptyDatabase();
afterAll(() => database.drop());

test('a second pool of a service has its own series', async () => {
  const registry = new Registry();
  const open = (pool?: string) =>
    createPrismaClient({ url: String(database.url), applicationName: 'test', connectionsMax: 3, registry, ...(pool && { pool }) });
  const clients = [open(), open('reads')];
  const sizes = await registry.getSingleMetric('tollgate_postgres_pool_connections_max')?.get();
  expect(sizes?.values.map(({ labels, value }) => [labels, value])).toEqual([
    [{ pool: 'common' }, 3],
    [{ pool: 'reads' }, 3],
  ]);
  await Promise.all(clients.map((client) => client.$disconnect()));
});

test('the pool is counted: connections in use, its size, and queries that wait for one', async () => {
  const registry = new Registry();
  const prisma = createPrismaClient({ url: String(database.url), applicationName: 'test', connectionsMax: 2, registry });
  /** Waits until the pool has these counts. */
  const inUse = async (connections: number, waiting: number): Promise<void> => {
    const names = ['connections', 'connections_max', 'waiting'].map((name) => `tollgate_postgres_pool_${name}`);
    const read = async () => (await registry.getMetricsAsJSON()).map(({ name, values }) => [name, values[0]?.value]);
    const expected = [connections, 2, waiting].map((value, at) => [names[at], value]);
    for (let tries = 0; tries < 400 && JSON.stringify(await read()) !== JSON.stringify(expected); tries++) await delay(5);
    expect(await read()).toEqual(expected);
  };
  await prisma.$queryRaw`SELECT 1`;
  await inUse(0, 0);
  await prisma.$executeRaw`CREATE TABLE gate ()`;
  const opened = Promise.withResolvers<void>();
  const closed = prisma.$transaction(async (tx) => {
    await tx.$executeRaw`LOCK TABLE gate`;
    await opened.promise;
  });
  await inUse(1, 0);
  // A query of Prisma begins when it is awaited.
  const reads = Promise.all([1, 2, 3].map(() => prisma.$queryRaw`SELECT FROM gate`));
  await inUse(2, 2);
  opened.resolve();
  await Promise.all([closed, reads]);
  await inUse(0, 0);
  await prisma.$disconnect();
});
