import type { Endpoint } from '#contracts/endpoint.js';
import { ServiceError } from '#contracts/service-error.js';
import { parseUsd } from '#money/pico-usd.js';

interface Fields {
  accountId: string;
  usd: string;
  paymentId: string;
  refundId: string;
}

/** Billing's top-ups and refunds of one account in memory, with their rules. */
export class MemoryBilling {
  topup = 0n;
  readonly done = new Map<string, bigint>();

  constructor(readonly accountId: string) {}

  /** Spends free money, as requests do. */
  spend(amount: bigint): void {
    this.topup -= amount;
  }

  async request<Request extends object, Reply>({ subject }: Endpoint<Request, Reply>, payload: Request): Promise<Reply> {
    const { accountId, usd, paymentId, refundId } = payload as unknown as Fields;
    if (accountId !== this.accountId) throw new ServiceError('not_found', 'There is no such account.');
    const reply = subject.includes('topup') ? this.credit(paymentId, parseUsd(usd)) : this.refund(refundId, parseUsd(usd));
    return reply as Reply;
  }

  private credit(id: string, amount: bigint): object {
    const before = this.done.get(id);
    if (before !== undefined && before !== amount) throw new ServiceError('conflict', 'Credited before.');
    if (before === undefined) this.topup += amount;
    this.done.set(id, amount);
    return { credited: before === undefined };
  }

  private refund(id: string, wanted: bigint): object {
    const before = this.done.get(id);
    const amount = before ?? (wanted < this.topup ? wanted : this.topup);
    if (amount === 0n) throw new ServiceError('insufficient_balance', 'Nothing is left.');
    if (before === undefined) this.topup -= amount;
    this.done.set(id, amount);
    return { refunded: before === undefined, amountPicoUsd: String(amount) };
  }
}
