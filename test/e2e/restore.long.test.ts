import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { holdList } from '#contracts/billing/holds.js';
import { keyCreate, keyRevoke } from '#contracts/billing/keys.js';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { topupCreate } from '#contracts/billing/money.js';
import { catalogApply, modelList } from '#contracts/catalog.js';
import { catalogGet } from '#contracts/catalog-revisions.js';
import type { Messaging } from '#messaging/messaging.js';
import { TestPostgres } from '#testing/postgres-server.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';

/** The steps of docs/restore.md. Seconds instead of minutes, so that leases and caches expire within the test. */
const SETTINGS = { LEASE_MS: '2000', REAPER_INTERVAL_MS: '250', REAPER_GRACE_MS: '500', KEY_CACHE_MS: '100', CATALOG_REFRESH_MS: '500' };
const POLL_MS = 20;
const run = promisify(execFile);

const postgres = await TestPostgres.create();
const baseBackup = join(postgres.bin, 'pg_basebackup');
// Skipped with the Postgres of npm, which has no pg_basebackup.
const withBaseBackup = existsSync(baseBackup) ? test : test.skip;
const [archive, backup] = [join(postgres.folder, 'archive'), join(postgres.folder, 'backup')];

let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;
beforeAll(async () => {
  await mkdir(archive);
  await chmod(archive, 0o777);
  await postgres.start({ archive_mode: 'on', archive_command: `cp %p ${archive}/%f` });
  stack = await startPrivateStack({ env: SETTINGS, databaseUrl: postgres.url });
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator, { usd: '10.00' });
});
afterAll(async () => {
  await administrator?.close();
  await stack?.stop();
  await postgres.remove();
});

async function ask(apiKey: string, directives: string): Promise<number> {
  const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: `Hello [[sim ${directives}]]` }] }),
  });
  await response.arrayBuffer();
  return response.status;
}

async function query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(POLL_MS);
}

/** Resolves when the archive has all WAL up to now. */
async function untilArchived(): Promise<void> {
  const [switched] = await query<{ name: string }>('SELECT pg_walfile_name(pg_switch_wal()) AS name');
  await until(async () => existsSync(join(archive, switched?.name ?? '')));
}

/** Replaces the database by the backup and the WAL of the archive up to a restore point. */
async function restoreTo(point: string): Promise<void> {
  await postgres.stop();
  await run('rm', ['-rf', postgres.data]);
  await run('cp', ['-a', backup, postgres.data]);
  await postgres.write('recovery.signal', '');
  await postgres.start({
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_name: point,
    recovery_target_action: 'promote',
  });
  await until(async () => (await query<{ done: boolean }>('SELECT NOT pg_is_in_recovery() AS done'))[0]?.done === true);
}

async function isReady(service: 'billing' | 'catalog'): Promise<boolean> {
  return (await fetch(`${stack.opsUrls[service]}/readyz`)).ok;
}

withBaseBackup('a restore to a point in time with open holds comes back consistent, without a restart of a service', async () => {
  const { accountId, projectId, apiKey } = tenant;
  expect(await ask(apiKey, 'tokens=3')).toBe(200);
  const { account } = postgres;
  await run(baseBackup, ['-d', postgres.url, '-D', backup, '--checkpoint=fast', '--no-sync'], { ...account, cwd: '/' });
  expect(await ask(apiKey, 'tokens=3')).toBe(200);
  const other = await administrator.request(keyCreate, { projectId });
  const running = Array.from({ length: 3 }, () => ask(apiKey, 'tokens=20 rate=10'));
  await until(async () => (await administrator.request(holdList, { accountId })).holds.length === 3);
  const before = await administrator.request(catalogGet, {});
  await query(`SELECT pg_create_restore_point('the point')`);

  // After the point: the holds are settled, a key is revoked, the catalog changed, money comes in.
  expect(await Promise.all(running)).toEqual([200, 200, 200]);
  await administrator.request(keyRevoke, { keyId: other.keyId });
  await until(async () => (await ask(other.key, 'tokens=3')) === 401);
  const { revision } = await administrator.request(catalogApply, { yaml: before.yaml?.replaceAll('"0.60"', '"0.90"') ?? '' });
  expect(revision).toBe(before.revision + 1);
  const payment = { accountId, usd: '5.00', paymentId: 'after the point' };
  await administrator.request(topupCreate, payment);
  await untilArchived();
  await restoreTo('the point');

  // Without any step of the operator: the catalog is that of the point, and the open holds end.
  await until(async () => (await isReady('billing')) && (await isReady('catalog')));
  await until(async () => (await administrator.request(modelList, {})).revision === before.revision);
  expect((await administrator.request(holdList, { accountId })).holds).toHaveLength(3);
  await untilNoHolds(administrator, accountId);
  const reasons = 'SELECT reason, count(*)::int AS count FROM billing.settlement GROUP BY 1 ORDER BY 1';
  expect(await query(reasons)).toEqual([
    { reason: 'completed', count: 2 },
    { reason: 'lease-expired', count: 3 },
  ]);

  // The steps of the operator: what came after the point is done again.
  expect(await ask(other.key, 'tokens=3')).toBe(200);
  await administrator.request(keyRevoke, { keyId: other.keyId });
  await until(async () => (await ask(other.key, 'tokens=3')) === 401);
  await administrator.request(topupCreate, payment);
  await administrator.request(topupCreate, payment);
  const [movements] = await query<{ usd: string }>(
    `SELECT (sum(amount) / 1e12)::numeric(10, 2)::text AS usd FROM billing.movement WHERE account_id = '${accountId}'`,
  );
  expect(movements).toEqual({ usd: '15.00' });
  expect(await ask(apiKey, 'tokens=3')).toBe(200);
  expect((await readBalance(stack.gatewayUrl, apiKey)).reserved_pico_usd).toBe('0');
  expect(await administrator.request(ledgerCheck, {})).toMatchObject({ violations: [] });
});
