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
export function makeBudgetsAtAllLevels({ projectId, keyId }) {
  return [{}, { projectId }, { keyId }, { dimension: 'user' }, { dimension: 'tag:team' }];
}

/** A budget of each session, which lasts as long as the session. */
export function makeSessionBudget() {
  return [{ dimension: 'session', period: 'total' }];
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
