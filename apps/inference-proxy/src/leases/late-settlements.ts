import { setTimeout as delay } from 'node:timers/promises';
import { holdSettle, type SettleRequest } from '#contracts/billing/holds.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';

const ATTEMPTS_MAX = 5;

/**
 * Settles what a gateway that has gone cannot. A gateway that lives settles within moments of the end of a stream and is
 * answered first; a hold is settled once whoever asks, so nothing is lost by asking again a little later (billing.md 4).
 */
export class LateSettlements {
  private readonly waiting = new Set<Promise<void>>();
  private closing = false;

  constructor(
    private readonly messaging: Pick<Messaging, 'request'>,
    private readonly logger: Logger,
    private readonly delayMs: number,
  ) {}

  /** Settles with what `read` says after the delay. */
  schedule(read: () => SettleRequest): void {
    const settling = this.settle(read).finally(() => this.waiting.delete(settling));
    this.waiting.add(settling);
  }

  /** Waits for what is still to be settled: each gets one try more, after its delay. */
  async close(): Promise<void> {
    this.closing = true;
    await Promise.all(this.waiting);
  }

  private async settle(read: () => SettleRequest): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      await delay(this.delayMs * attempt);
      const settlement = read();
      const { holdId, reason } = settlement;
      try {
        const { status } = await this.messaging.request(holdSettle, settlement);
        if (status === 'settled') this.logger.info({ holdId, reason }, 'settled in place of the gateway');
        return;
      } catch (error) {
        this.logger.warn({ err: error, holdId, attempt }, 'late settlement failed');
        if (this.closing) return;
      }
    }
  }
}
