import { billingAuditList } from '#contracts/audit.js';
import { type Account, accountList, pricePlanAt } from '#contracts/billing/accounts.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';

/** Returns the price plan of an account now, at an earlier time as the audit journal knows it, or at a time ahead. Undefined: it has none. */
export async function readAccountPlan(messaging: Messaging, accountId: string, at?: string): Promise<string | undefined> {
  const { accounts } = await messaging.request(accountList, { accountId });
  const account = accounts[0];
  if (!account) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  const { pricePlan, nextPricePlan } = account;
  const plans = { pricePlan, nextPricePlan };
  const moment = at === undefined ? Date.now() : Date.parse(at);
  if (at !== undefined && moment < Date.now()) {
    let cursor: string | undefined;
    do {
      const page = await messaging.request(billingAuditList, { accountId, action: 'account.update', from: at, cursor });
      // Newest first: the last one of all pages is the first change after the time.
      for (const { before } of page.entries) Object.assign(plans, before && plansIn(before));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
  return pricePlanAt(plans, moment) ?? undefined;
}

function plansIn(before: Record<string, unknown>): Partial<Pick<Account, 'pricePlan' | 'nextPricePlan'>> {
  return Object.fromEntries(Object.entries(before).filter(([field]) => field === 'pricePlan' || field === 'nextPricePlan'));
}
