import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { movementList } from '#contracts/billing/movements.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { createLogger } from '#observability/logger.js';
import { freePort } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { createEmptyDatabase } from '#testing/test-database.js';
import { BillingConfig } from './billing.config.js';
import { startBilling } from './start-billing.js';

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
    await owner.end();
    await Promise.all([nats.stop(), database.drop()]);
  };
  return { stop, messaging, owner, waiting, cleanUp };
}

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

test('on an empty database the service is not ready, names the missing migration and takes no requests; after the migration it serves without a restart', async () => {
  const [nats, database, opsPort] = [await startNatsWithUsers(), await createEmptyDatabase(), await freePort()];
  const access = { natsUrl: nats.url, natsUser: 'billing', natsPassword: TEST_NATS_PASSWORD, databaseUrl: database.url.href };
  const settings = { ...access, keyPepper: 'p'.repeat(32), opsPort };
  const starting = startBilling(Object.assign(new BillingConfig(), settings), logger);
  const readyz = async (): Promise<[number, unknown]> => {
    const response = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    return [response.status, await response.json()];
  };
  const messaging = await connectMessaging({ url: nats.url, user: 'cli', password: TEST_NATS_PASSWORD, service: 'cli', logger });
  while (/starting|nats/.test(JSON.stringify(await readyz().catch(() => 'starting')))) await delay(5);
  const schema = expect.stringMatching(/^schema: migration \d+_billing is missing, and \d+ after it$/);
  expect(await readyz()).toEqual([503, { status: 'unavailable', missing: [schema, 'listening'] }]);
  await expect(messaging.request(ledgerCheck, {})).rejects.toMatchObject({ name: 'MessagingError', kind: 'unavailable' });
  await database.migrate();
  const stop = await starting;
  expect(await readyz()).toEqual([200, { status: 'ok', missing: [] }]);
  expect(await messaging.request(ledgerCheck, {})).toMatchObject({ violations: [] });
  await messaging.close();
  await stop();
  await Promise.all([nats.stop(), database.drop()]);
});
