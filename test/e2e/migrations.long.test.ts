import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, untilNoHolds } from '#testing/tenant.js';
import { seedSettlements } from '../../bench/growth/seed-settlements.mjs';
import type { Replica, RunningReplicas } from '../../scripts/local/replicas.mjs';
import { latencies } from '../chaos/latencies.js';
import { SteadyTraffic } from '../chaos/steady-traffic.js';

/**
 * Migrations beside traffic: on a journal of two million settlements, at 100 requests a second, while another session keeps a snapshot open.
 * The database has the schema of the version before, whose services run: TEST_PREVIOUS_CHECKOUT names its checkout, installed and built.
 * Without it they are those of this version, and only the online migrations are missing, which any version can do without.
 */
const SETTLEMENTS = 2_000_000;
const PER_SECOND = 100;
const SNAPSHOT_MS = 60_000;
/** Time that a request may take beyond the pace of its upstream. */
const ADDED_MS_MAX = 500;
const PREVIOUS = process.env.TEST_PREVIOUS_CHECKOUT;
const ROOT = resolve(PREVIOUS ?? '.');

const run = promisify(execFile);
let stack: RunningStack;
let replicas: RunningReplicas;
let databaseUrl: string;
let sql: pg.Client;

beforeAll(async () => {
  stack = await startPrivateStack({ services: ['upstream-sim'], durable: true });
  databaseUrl = Object.assign(new URL(stack.databaseUrl), { pathname: '/older' }).href;
  const owner = new pg.Client({ connectionString: stack.databaseUrl });
  await owner.connect();
  await owner.query('CREATE DATABASE older');
  await owner.end();
  await migrate(ROOT);
  sql = new pg.Client({ connectionString: databaseUrl });
  await sql.connect();
  const env = { DATABASE_URL: databaseUrl, UPSTREAM_LOCAL_URL: `${stack.upstreamUrl}/v1` };
  const { startReplicas } = await import('../../scripts/local/replicas.mjs');
  const services = ['gateway', 'inference-proxy', 'billing', 'catalog'] as const;
  const one = (service: Replica['service']): Replica => ({ name: service, service, env, ...(PREVIOUS && { root: ROOT }) });
  replicas = await startReplicas(stack, services.map(one));
  // Not before: a service without one of its migrations does not become ready.
  if (!PREVIOUS) await forgetOnlineMigrations();
});
afterAll(async () => {
  await sql?.end();
  await replicas?.stop();
  await stack?.stop();
});

/** Applies the migrations of a checkout. Returns the last line of its output. */
async function migrate(root: string): Promise<string> {
  const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, NODE_OPTIONS: '' };
  const { stdout } = await run(process.execPath, [join(root, 'scripts/prisma/migrate-deploy.mjs')], { cwd: root, env });
  return stdout.trim().split('\n').at(-1) ?? '';
}

/** Undoes the migrations that can be repeated: drops their indexes, and removes their records. */
async function forgetOnlineMigrations(): Promise<void> {
  const { rows } = await sql.query<{ name: string }>('SELECT migration_name AS name FROM _prisma_migrations');
  for (const { name } of rows) {
    const text = readFileSync(join(ROOT, 'prisma/migrations', name, 'migration.sql'), 'utf8');
    if (!text.startsWith('-- online')) continue;
    const [, index] = /CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+)/.exec(text) ?? [];
    if (index !== undefined) await sql.query(`DROP INDEX billing.${index}`);
    await sql.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [name]);
  }
}

/** Keeps a snapshot of the journal open for a minute. Resolves when the session has it. */
async function openSnapshot(): Promise<{ closed: Promise<unknown> }> {
  const session = new pg.Client({ connectionString: databaseUrl, application_name: 'a-long-report' });
  await session.connect();
  await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM billing.account, billing.settlement LIMIT 1');
  return { closed: delay(SNAPSHOT_MS).then(() => session.end()) };
}

test('every pending migration is applied beside traffic and an open snapshot: no request fails, and none waits long', async () => {
  const administrator = await connectAdministrator(stack);
  const tenant = await createTenant(administrator, { usd: '1000.00' });
  const first = new SteadyTraffic(replicas.gatewayUrls, tenant);
  await delay(1_000);
  await first.stop();
  await seedSettlements(databaseUrl, SETTLEMENTS);

  const traffic = new SteadyTraffic(replicas.gatewayUrls, tenant, { perSecond: PER_SECOND });
  const snapshot = await openSnapshot();
  const beganAt = performance.now();
  const [applied] = await Promise.all([migrate(resolve('.')), snapshot.closed]);
  const seconds = Math.round((performance.now() - beganAt) / 1_000);
  await delay(5_000);
  const stories = await traffic.stop();
  const took = latencies(stories);
  console.info(`${applied} in ${seconds} s; ${stories.length} requests, added ms: ${JSON.stringify(took)}`);
  const failures = stories.filter(({ outcome }) => outcome.kind !== 'completed');
  expect(failures.map(({ name, outcome }) => ({ name, outcome }))).toEqual([]);
  expect(took.p99).toBeLessThan(ADDED_MS_MAX);
  expect(applied).toMatch(/^migrated: (?!nothing)/);
  await untilNoHolds(administrator, tenant.accountId, 10_000);
  await administrator.close();
});
