import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '#observability/logger.js';
import { freePort } from '#testing/nats-server.js';
import { startNatsWithUsers, TEST_NATS_PASSWORD } from '#testing/nats-with-users.js';
import { createEmptyDatabase } from '#testing/test-database.js';
import { BillingConfig } from './billing.config.js';
import { startBilling } from './start-billing.js';

test('on an empty database it is not ready, and names the migration it needs; once it is migrated it serves without a restart', async () => {
  const [nats, database, opsPort] = [await startNatsWithUsers(), await createEmptyDatabase(), await freePort()];
  const access = { natsUrl: nats.url, natsUser: 'billing', natsPassword: TEST_NATS_PASSWORD, databaseUrl: database.url.href };
  const settings = { ...access, keyPepper: 'p'.repeat(32), opsPort };
  const stop = await startBilling(Object.assign(new BillingConfig(), settings), createLogger('test', 'silent'));
  const readyz = async (): Promise<[number, unknown]> => {
    const response = await fetch(`http://127.0.0.1:${opsPort}/readyz`);
    return [response.status, await response.json()];
  };
  const schema = expect.stringMatching(/^schema: migration \d+_billing is missing, and \d+ after it$/);
  expect(await readyz()).toEqual([503, { status: 'unavailable', missing: [schema] }]);
  await database.migrate();
  while ((await readyz())[0] !== 200) await delay(50);
  expect(await readyz()).toEqual([200, { status: 'ok', missing: [] }]);
  await stop();
  await Promise.all([nats.stop(), database.drop()]);
});
