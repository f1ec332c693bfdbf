import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { TestPostgres } from '#testing/postgres-server.js';
import { connectPg, type PgConnection } from './pg-connection.js';
import { postgresReadiness } from './postgres-readiness.js';
import { createPrismaClient, type PrismaClient } from './prisma-client.js';

/** A primary, and a standby that is promoted in a test. */
let primary: TestPostgres;
let standby: TestPostgres;
beforeAll(async () => {
  primary = await TestPostgres.create();
  await primary.start();
  await query(primary, 'CREATE TABLE written (at int)');
  await primary.stop();
  standby = await primary.copy();
  await standby.write('standby.signal', '');
  await Promise.all([primary.start(), standby.start()]);
});
afterAll(() => Promise.all([primary?.remove(), standby?.remove()]));

let prisma: PrismaClient | undefined;
let connections: PgConnection[];
beforeEach(() => {
  connections = [];
});
afterEach(async () => {
  await prisma?.$disconnect();
  await Promise.all(connections.map((connection) => connection.end()));
});

async function query(server: TestPostgres, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

/** `name` makes the URL one that no other test has used. */
function makeUrl(servers: TestPostgres[], name: string): string {
  return `postgres://tollgate:test@${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}/tollgate?application_name=${name}`;
}

async function connect(url: string): Promise<PgConnection> {
  const connection = await connectPg({ url, applicationName: 'test' });
  connections.push(connection);
  return connection;
}

/** The check of a service with a pool of its own. */
function checkReadiness(url: string): ReturnType<typeof postgresReadiness> {
  prisma = createPrismaClient({ url, applicationName: 'test' });
  return postgresReadiness(prisma, url);
}

async function readPort(connection: PgConnection): Promise<number | undefined> {
  return (await connection.query<{ port: number }>('SELECT inet_server_port() AS port')).rows[0]?.port;
}

const READ_ONLY = 'the server is a standby or read-only';

test('of several hosts the one that takes writes is used', async () => {
  const url = makeUrl([standby, primary], 'choice');
  const readiness = checkReadiness(url);
  expect([await readiness.check(), readiness.detail()]).toEqual([false, `127.0.0.1:${standby.port}: ${READ_ONLY}`]);
  expect([await readiness.check(), readiness.detail()]).toEqual([true, undefined]);
  expect(await (prisma as PrismaClient).$queryRaw`SELECT inet_server_port() AS port`).toEqual([{ port: primary.port }]);
  expect(await readPort(await connect(makeUrl([standby, primary], 'another-choice')))).toBe(primary.port);
});

test('a standby alone is refused', async () => {
  await expect(connect(makeUrl([standby], 'alone'))).rejects.toMatchObject({ code: '25006', message: READ_ONLY });
});

test('when a primary turns read-only, all connections to it are dropped, and the promoted standby is used', async () => {
  const url = makeUrl([primary, standby], 'demoted');
  const readiness = checkReadiness(url);
  const [writing, idle] = [await connect(url), await connect(url)];
  expect(await readiness.check()).toBe(true);
  const dropped = Promise.all([writing, idle].map((connection) => new Promise<void>((resolve) => connection.once('end', resolve))));
  await query(primary, 'ALTER SYSTEM SET default_transaction_read_only = on');
  await query(primary, 'SELECT pg_reload_conf()');
  while ((await query(primary, 'SHOW default_transaction_read_only')).rows[0].default_transaction_read_only !== 'on') await delay(5);

  await expect(writing.query('INSERT INTO written VALUES (1)')).rejects.toMatchObject({ code: '25006' });
  await dropped;
  const sessions = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name IN ('test', 'demoted')`;
  while ((await query(primary, sessions)).rows[0].count > 0) await delay(5);
  expect(await readiness.check()).toBe(false);
  await expect(connect(url)).rejects.toMatchObject({ code: '25006' });
  expect(readiness.detail()).toBe(`127.0.0.1:${primary.port}: ${READ_ONLY}; 127.0.0.1:${standby.port}: ${READ_ONLY}`);

  await query(standby, 'SELECT pg_promote()');
  while (!(await readiness.check())) await delay(20);
  const connection = await connect(url);
  await connection.query('INSERT INTO written VALUES (2)');
  expect([await readPort(connection), readiness.detail()]).toEqual([standby.port, undefined]);
});
