import { receiptKeys } from '#contracts/billing/receipts.js';
import type { Messaging } from '#messaging/messaging.js';
import { billingError } from './billing.js';
import { JoinedReads } from './joined-reads.js';

/** Milliseconds for which a reply of billing is reused. The keys change about once a month. */
const KEPT_MS = 60_000;
const KEYS = 'keys';

/** The published keys of receipts, as text. The gateway asks billing at most once a minute, however many clients read them. */
export class ReceiptKeys {
  private readonly reads = new JoinedReads(() => this.ask());
  private kept: { text: string; at: number } | undefined;

  constructor(private readonly messaging: Pick<Messaging, 'request'>) {}

  /** While billing is away the last answer counts. @throws {GatewayError} when there is none. */
  async read(): Promise<string> {
    if (this.kept && performance.now() - this.kept.at < KEPT_MS) return this.kept.text;
    try {
      return await this.reads.get(KEYS);
    } catch (error) {
      if (this.kept) return this.kept.text;
      throw billingError(error);
    }
  }

  private async ask(): Promise<string> {
    const text = JSON.stringify(await this.messaging.request(receiptKeys, {}));
    this.kept = { text, at: performance.now() };
    return text;
  }
}
