import { billingAuditList } from '#contracts/audit.js';
import { accountList } from '#contracts/billing/accounts.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';

/** Returns the price plan of an account, now or at an earlier time, as the audit journal knows it. Undefined: it has none. */
export async function planOfAccount(messaging: Messaging, accountId: string, at?: string): Promise<string | undefined> {
  const { accounts } = await messaging.request(accountList, { accountId });
  const account = accounts[0];
  if (!account) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  let plan: unknown = account.pricePlan;
  if (at !== undefined && Date.parse(at) < Date.now()) {
    let cursor: string | undefined;
    do {
      const page = await messaging.request(billingAuditList, { accountId, action: 'account.update', from: at, cursor });
      // Newest first: the last one of all pages is the first change after the time.
      for (const { before } of page.entries) if (before && 'pricePlan' in before) plan = before.pricePlan;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
  return typeof plan === 'string' ? plan : undefined;
}
