import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, untilNoHolds } from '#testing/tenant.js';
import { seedSettlements } from '../../bench/growth/seed-settlements.ts';
import { scriptOf } from '../../scripts/local/project.mjs';
import type { Replica, RunningReplicas } from '../../scripts/local/replicas.ts';
import { latencies } from '../chaos/latencies.js';
import { SteadyTraffic } from '../chaos/steady-traffic.js';

/**
 * Migrations beside traffic: on a journal of two million settlements, at 100 requests a second, while another session keeps a snapshot open.
 * The database has the schema of the version before, whose services run: TEST_PREVIOUS_CHECKOUT names its checkout, installed and built.
 * Without it they are those of this version, and one migration of each kind is added, which any version can do without.
 */
const SETTLEMENTS = 2_000_000;
const PER_SECOND = 100;
const SNAPSHOT_MS = 60_000;
/** Time that a request may take beyond the pace of its upstream. */
const ADDED_MS_MAX = 500;
const PREVIOUS = process.env.TEST_PREVIOUS_CHECKOUT;
const ROOT = resolve(PREVIOUS ?? '.');
const ADDED = {
  '20991231000000_added': 'ALTER TABLE billing.settlement ADD COLUMN added integer, ADD CONSTRAINT added_check CHECK (added > 0) NOT VALID',
  '20991231000001_index': '-- online\nCREATE INDEX CONCURRENTLY IF NOT EXISTS settlement_added ON billing.settlement (added)',
  '20991231000002_check': '-- online\nALTER TABLE billing.settlement VALIDATE CONSTRAINT added_check',
};

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
  const { startReplicas } = await import('../../scripts/local/replicas.ts');
  const services = ['gateway', 'inference-proxy', 'billing', 'catalog'] as const;
  const one = (service: Replica['service']): Replica => ({ name: service, service, env, ...(PREVIOUS && { root: ROOT }) });
  replicas = await startReplicas(stack, services.map(one));
});
afterAll(async () => {
  await sql?.end();
  await replicas?.stop();
  await stack?.stop();
});

/** Applies the migrations of a checkout. */
async function migrate(root: string): Promise<void> {
  const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl, NODE_OPTIONS: '' };
  await run(process.execPath, [scriptOf(root, 'scripts/prisma/migrate-deploy')], { cwd: root, env });
}

/** Applies the migrations of this checkout, or those of `ADDED`. Returns their names. */
async function migrateOn(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-migrations-'));
  cpSync('prisma/migrations', folder, { recursive: true });
  for (const [name, text] of PREVIOUS ? [] : Object.entries(ADDED)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'migration.sql'), text);
  }
  const { applyMigrations } = await import('../../scripts/prisma/apply-migrations.ts');
  return applyMigrations(databaseUrl, folder).finally(() => rmSync(folder, { recursive: true }));
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
  const [applied] = await Promise.all([migrateOn(), snapshot.closed]);
  const seconds = Math.round((performance.now() - beganAt) / 1_000);
  await delay(5_000);
  const stories = await traffic.stop();
  const took = latencies(stories);
  console.info(`${applied.join(', ')} in ${seconds} s; ${stories.length} requests, added ms: ${JSON.stringify(took)}`);
  const failures = stories.filter(({ outcome }) => outcome.kind !== 'completed');
  expect(failures.map(({ name, outcome }) => ({ name, outcome }))).toEqual([]);
  expect(took.p99).toBeLessThan(ADDED_MS_MAX);
  expect(applied).not.toEqual([]);
  await untilNoHolds(administrator, tenant.accountId, 10_000);
  await administrator.close();
});
