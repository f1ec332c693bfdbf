import { accountCreate } from '#contracts/billing/accounts.js';
import { keyCreate } from '#contracts/billing/keys.js';
import { topupCreate } from '#contracts/billing/money.js';
import { projectCreate } from '#contracts/billing/projects.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { createLogger } from '#observability/logger.js';

const AT_ONCE = 16;

/**
 * Creates accounts with money, a project with very high limits, and a key, through the administrator's subjects.
 *
 * @param {{ natsUrl: string, password: string, count: number }} options
 * @returns {Promise<{ accountId: string, projectId: string, keyId: string }[]>}
 */
export async function makeAccounts({ natsUrl, password, count }) {
  const messaging = await connectMessaging({ url: natsUrl, user: 'cli', password, service: 'cli', logger: createLogger('bench', 'warn') });
  const options = { timeoutMs: 30_000 };
  const make = async (/** @type {number} */ number) => {
    const { accountId } = await messaging.request(accountCreate, { name: `bench ${number}` }, options);
    await messaging.request(topupCreate, { accountId, usd: '1000000.00', paymentId: `bench-${accountId}` }, options);
    const limits = { requestsPerMinuteMax: 1_000_000, concurrencyMax: 100_000 };
    const { projectId } = await messaging.request(projectCreate, { accountId, name: 'bench', ...limits }, options);
    const { keyId } = await messaging.request(keyCreate, { projectId }, options);
    return { accountId, projectId, keyId };
  };
  const accounts = [];
  for (let made = 0; made < count; made += AT_ONCE) {
    accounts.push(...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, number) => make(made + number)))));
  }
  await messaging.close();
  return accounts;
}

/**
 * Adds keys to the project of an account until there are `count`. Returns the account once with each.
 *
 * @param {{ natsUrl: string, password: string, account: { accountId: string, projectId: string, keyId: string } | undefined, count: number }} options
 */
export async function addKeys({ natsUrl, password, account, count }) {
  if (account === undefined) throw new Error('no account');
  const messaging = await connectMessaging({ url: natsUrl, user: 'cli', password, service: 'cli', logger: createLogger('bench', 'warn') });
  const keys = [account];
  while (keys.length < count) {
    const made = Array.from({ length: Math.min(AT_ONCE, count - keys.length) }, () =>
      messaging.request(keyCreate, { projectId: account.projectId }, { timeoutMs: 30_000 }),
    );
    keys.push(...(await Promise.all(made)).map(({ keyId }) => ({ ...account, keyId })));
  }
  await messaging.close();
  return keys;
}
