import { startNatsServer, type TestNatsServer } from './nats-server.js';

const CONFIG = new URL('../../../config/nats-passwords.conf', import.meta.url).pathname;

/** The password of every user of `startNatsWithUsers`. */
export const TEST_NATS_PASSWORD = 'test';

/** A nats-server with the users and permissions of `npm start`. */
export async function startNatsWithUsers(): Promise<TestNatsServer> {
  const { PASSWORD_USERS, natsVariable } = await import('../../../scripts/local/nats-keys.mjs');
  const passwords = PASSWORD_USERS.map((user) => [natsVariable(user, 'PASSWORD'), TEST_NATS_PASSWORD]);
  return await startNatsServer(['-c', CONFIG], Object.fromEntries(passwords));
}
