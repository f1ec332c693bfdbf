import { budgetSet } from '#contracts/billing/budgets.js';
import { keyList } from '#contracts/billing/keys.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { createLogger } from '#observability/logger.js';

/** Limit of every budget, in pico-USD or tokens: no run reaches it. */
const LIMIT = '1000000000000000000';
const AT_ONCE = 16;

/** @typedef {{ natsUrl: string, natsPasswords: Record<string, string> }} Stack */

/**
 * A budget on each level: account, project, key, each user and each team.
 *
 * @param {{ projectId: string, keyId: string }} account
 */
function makeBudgetsAtAllLevels({ projectId, keyId }) {
  return [{}, { projectId }, { keyId }, { dimension: 'user' }, { dimension: 'tag:team' }];
}

/** The budgets of each variant; those of a session and of a child key last as long as it does. */
export const MAKE_BUDGETS = {
  all: makeBudgetsAtAllLevels,
  session: () => [{ dimension: 'session', period: 'total' }],
  child: () => [{ dimension: 'child', period: 'total' }],
};

/** Makes a chain of three child keys and returns the last. @param {string} gatewayUrl @param {string} apiKey @returns {Promise<string>} */
export async function makeChildKeys(gatewayUrl, apiKey) {
  let key = apiKey;
  for (const seconds of [3_600, 3_500, 3_400]) key = await makeChildKey(gatewayUrl, key, seconds);
  return key;
}

/** @param {string} gatewayUrl @param {string} parent @param {number} seconds @returns {Promise<string>} */
async function makeChildKey(gatewayUrl, parent, seconds) {
  const response = await fetch(`${gatewayUrl}/v1/key/children`, {
    method: 'POST',
    headers: { authorization: `Bearer ${parent}`, 'content-type': 'application/json' },
    body: JSON.stringify({ budget_usd: '1000', expires_in: seconds }),
  });
  const { key } = await response.json();
  if (!key) throw new Error(`the gateway made no child key: ${response.status}`);
  return key;
}

/** The first key of a project. @param {Stack} stack @param {string} projectId */
export function findKey(stack, projectId) {
  return withAdministrator(stack, async (messaging) => {
    const { keys } = await messaging.request(keyList, { projectId });
    return /** @type {{ keyId: string }} */ (keys[0]).keyId;
  });
}

/** Sets budgets of a month that never refuse. @param {Stack} stack @param {{ accountId: string }[]} accounts @param {(account: any) => object[]} makeBudgets */
export function setBudgets(stack, accounts, makeBudgets) {
  return withAdministrator(stack, async (messaging) => {
    const set = async (/** @type {{ accountId: string }} */ account) => {
      for (const budget of makeBudgets(account)) {
        await messaging.request(
          budgetSet,
          { accountId: account.accountId, period: 'month', limitPicoUsd: LIMIT, ...budget },
          { timeoutMs: 30_000 },
        );
      }
    };
    for (let done = 0; done < accounts.length; done += AT_ONCE) await Promise.all(accounts.slice(done, done + AT_ONCE).map(set));
  });
}

/** @template Result @param {Stack} stack @param {(messaging: Awaited<ReturnType<typeof connectMessaging>>) => Promise<Result>} work */
async function withAdministrator({ natsUrl, natsPasswords }, work) {
  const logger = createLogger('bench', 'warn');
  const messaging = await connectMessaging({ url: natsUrl, user: 'cli', password: natsPasswords.cli ?? '', service: 'cli', logger });
  try {
    return await work(messaging);
  } finally {
    await messaging.close();
  }
}
