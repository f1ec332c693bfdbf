import { balanceGet } from '#contracts/billing/money.js';
import type { AutoTopup, AutoTopupSetRequest } from '#contracts/payments.js';
import type { Author } from '#database/audit-journal.js';
import type { Messaging } from '#messaging/messaging.js';
import type { ChargeStore } from './charge-store.js';

/** Rules of automatic top-ups, of accounts that billing knows. */
export class RuledAccounts {
  constructor(
    private readonly store: ChargeStore,
    private readonly billing: Pick<Messaging, 'request'>,
  ) {}

  async set(request: AutoTopupSetRequest, author: Author): Promise<AutoTopup> {
    await this.billing.request(balanceGet, { accountId: request.accountId });
    return this.store.setRule(request, author);
  }

  async remove(accountId: string, author: Author): Promise<AutoTopup> {
    await this.billing.request(balanceGet, { accountId });
    return this.store.removeRule(accountId, author);
  }

  async show(accountId: string): Promise<AutoTopup> {
    await this.billing.request(balanceGet, { accountId });
    return this.store.show(accountId);
  }
}
