import { quoteKey } from '#contracts/billing/quotes.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';
import { billingError } from './billing.js';

/** Keys that this replica may need at once: the present one, and those of the hours beside it. */
const KEYS_MAX = 4;

/** The keys that sign quotes, the same for all gateways. Each is asked for once, by the first request that needs it. */
export class QuoteKeys {
  private readonly keys = new Map<number, Promise<Buffer>>();

  constructor(private readonly messaging: Messaging) {}

  /** Returns undefined for a key of another time. Throws the error of an unavailable billing. */
  async get(number: number): Promise<Buffer | undefined> {
    try {
      return await (this.keys.get(number) ?? this.ask(number));
    } catch (error) {
      this.keys.delete(number);
      if (error instanceof ServiceError && error.code === 'not_found') return undefined;
      throw billingError(error);
    }
  }

  private ask(number: number): Promise<Buffer> {
    const key = this.messaging.request(quoteKey, { number }).then((reply) => Buffer.from(reply.key, 'base64'));
    this.keys.set(number, key);
    for (const known of [...this.keys.keys()].sort((one, other) => one - other).slice(0, -KEYS_MAX)) this.keys.delete(known);
    return key;
  }
}
