import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { accountList } from '#contracts/billing/accounts.js';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { movementList } from '#contracts/billing/movements.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { createLogger } from '#observability/logger.js';
import { freePort } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { createEmptyDatabase } from '#testing/test-database.js';
import { BillingConfig } from './billing.config.js';
import { startBilling } from './start-billing.js';

const { migrationsIn } = await import('../../../scripts/prisma/apply-migrations.ts');
const logger = createLogger('test', 'silent');

/** Starts the service on a database owned by the test, and connects as an administrator. */
async function start(settings: Partial<BillingConfig>) {
  const [nats, database, opsPort] = [await startNatsWithUsers(), await createEmptyDatabase(), await freePort()];
  await database.migrate();
  const access = { natsUrl: nats.url, natsUser: 'billing', natsPassword: TEST_NATS_PASSWORD, databaseUrl: database.url.href };
  const config = Object.assign(new BillingConfig(), {
    ...access,
    keyPepper: 'p'.repeat(32),
    opsPort,
    ledgerCheckIntervalMs: 0,
    ...settings,
  });
  const stop = await startBilling(config, logger);
  const messaging = await connectMessaging({ url: nats.url, user: 'cli', password: TEST_NATS_PASSWORD, service: 'cli', logger });
  const owner = new pg.Client({ connectionString: database.url.href });
  await owner.connect();
  /** Resolves when a statement of the service waits for a lock of the owner. */
  const waiting = async (): Promise<void> => {
    const sql = `SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    while ((await owner.query(sql)).rowCount === 0) await delay(5);
  };
  const cleanUp = async (): Promise<void> => {
    await messaging.close();
    // Ends locks. A statement that outlived the grace of the service then ends too, and its connection, before the database is dropped.
    await owner.query('ROLLBACK');
    const others = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'tollgate-%'";
    while ((await owner.query(others)).rowCount !== 0) await delay(5);
    await owner.end();
    await Promise.all([nats.stop(), database.drop()]);
  };
  return { stop, messaging, owner, waiting, cleanUp };
}

test('a replica takes requests when its lanes are connected', async () => {
  const { stop, owner, cleanUp } = await start({ lanes: 3 });
  const sql = `SELECT count(*)::int AS connected FROM pg_stat_activity
    WHERE application_name = 'tollgate-billing-lane' AND datname = current_database()`;
  // Three lanes of holds, and one each for renewals, keys and operations on money.
  expect((await owner.query(sql)).rows[0].connected).toBeGreaterThanOrEqual(6);
  await stop();
  await cleanUp();
});

test('a requested ledger check does not delay a stop', async () => {
  const { stop, messaging, owner, waiting, cleanUp } = await start({ shutdownGraceMs: 600_000 });
  await owner.query('BEGIN; LOCK TABLE billing.settlement IN ACCESS EXCLUSIVE MODE'); // as long as this lasts, no check ends
  const checked = expect(messaging.request(ledgerCheck, {}, { timeoutMs: 60_000 })).rejects.toMatchObject({ code: 'unavailable' });
  await waiting();
  await stop();
  await checked;
  await cleanUp();
});

test('a stop waits for running requests for SHUTDOWN_GRACE_MS', async () => {
  const { stop, messaging, owner, waiting, cleanUp } = await start({ shutdownGraceMs: 100 });
  const accountId = '0190a6f0-7c1e-7000-8000-00000000000a';
  await owner.query('BEGIN; LOCK TABLE billing.movement IN ACCESS EXCLUSIVE MODE'); // until the statement's own limit of 10 s
  let answered = false;
  const asked = messaging.request(movementList, { accountId }, { timeoutMs: 60_000 }).then(
    () => (answered = true),
    () => (answered = true),
  );
  await waiting();
  await stop();
  expect(answered).toBe(false);
  await cleanUp();
  await asked;
});

test('a request whose connection to the database breaks is answered "unavailable"', async () => {
  const { stop, messaging, owner, waiting, cleanUp } = await start({});
  await owner.query('BEGIN; LOCK TABLE billing.account IN ACCESS EXCLUSIVE MODE');
  const message = 'The billing database cannot be reached at the moment.';
  const asked = expect(messaging.request(accountList, {})).rejects.toMatchObject({ code: 'unavailable', message });
  await waiting();
  await owner.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollgate-billing'
    AND datname = current_database() AND wait_event_type = 'Lock'`);
  await asked;
  await owner.query('ROLLBACK');
  await stop();
  await cleanUp();
});

/** Starts the service on a database that it is not ready for. `unready` resolves with the answer of `/readyz` when all but the schema is there. */
async function startUnready(url: string) {
  const [nats, opsPort] = [await startNatsWithUsers(), await freePort()];
  const access = { natsUrl: nats.url, natsUser: 'billing', natsPassword: TEST_NATS_PASSWORD, databaseUrl: url };
  const starting = startBilling(Object.assign(new BillingConfig(), { ...access, keyPepper: 'p'.repeat(32), opsPort }), logger);
  const readyz = async (): Promise<[number, unknown]> => {
    const response = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    return [response.status, await response.json()];
  };
  const unready = async (): Promise<[number, unknown]> => {
    while (/starting|nats/.test(JSON.stringify(await readyz().catch(() => 'starting')))) await delay(5);
    return await readyz();
  };
  const messaging = await connectMessaging({ url: nats.url, user: 'cli', password: TEST_NATS_PASSWORD, service: 'cli', logger });
  const cleanUp = async (): Promise<void> => {
    await messaging.close();
    await (await starting)();
    await nats.stop();
  };
  return { starting, readyz, unready, messaging, cleanUp };
}

test('on an empty database the service is not ready, names the missing migration and takes no requests; after the migration it serves without a restart', async () => {
  const database = await createEmptyDatabase();
  const { starting, readyz, unready, messaging, cleanUp } = await startUnready(database.url.href);
  const schema = expect.stringMatching(/^schema: migration \d+_billing is missing, and \d+ after it$/);
  expect(await unready()).toEqual([503, { status: 'unavailable', missing: [schema, 'listening'] }]);
  await expect(messaging.request(ledgerCheck, {})).rejects.toMatchObject({ name: 'MessagingError', kind: 'unavailable' });
  await database.migrate();
  await starting;
  expect(await readyz()).toEqual([200, { status: 'ok', missing: [] }]);
  expect(await messaging.request(ledgerCheck, {})).toMatchObject({ violations: [] });
  await cleanUp();
  await database.drop();
});

const [LAST] = migrationsIn('prisma/migrations').slice(-1);
const REMOVAL = '20990201000000_old_column_needs_20990101000000';
const RECORD = "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES (gen_random_uuid(), '', $1, now())";
const REMOVE = 'DELETE FROM _prisma_migrations WHERE migration_name = $1';

test.each([
  ['older', REMOVE, LAST, `migration ${LAST} is missing`, RECORD],
  ['newer, without what the service needs,', RECORD, REMOVAL, `the database is newer than this version can serve: ${REMOVAL}`, REMOVE],
])('on a database that is %s the service is not ready and names the migration, until it can serve', async (_, change, name, text, undo) => {
  const database = await createEmptyDatabase();
  await database.migrate();
  const owner = new pg.Client({ connectionString: database.url.href });
  await owner.connect();
  await owner.query(change, [name]);
  const { starting, readyz, unready, messaging, cleanUp } = await startUnready(database.url.href);
  expect(await unready()).toEqual([503, { status: 'unavailable', missing: [`schema: ${text}`, 'listening'] }]);
  await expect(messaging.request(ledgerCheck, {})).rejects.toMatchObject({ name: 'MessagingError', kind: 'unavailable' });
  await owner.query(undo, [name]);
  await starting;
  expect(await readyz()).toEqual([200, { status: 'ok', missing: [] }]);
  await owner.end();
  await cleanUp();
  await database.drop();
});
