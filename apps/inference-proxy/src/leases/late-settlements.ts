import { setTimeout as delay } from 'node:timers/promises';
import { holdSettle, type SettleRequest } from '#contracts/billing/holds.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';

const PAUSE_MAX_MS = 30_000;
/** A lease with its grace is over by then, unless billing was away all the time. */
const ATTEMPTS_MAX = 100;

/**
 * Settles what a gateway that has gone cannot, and asks until billing has answered. A gateway that lives settles within
 * moments of the end of a stream and is answered first; a hold is settled once whoever asks, so nothing is lost by asking
 * again a little later (billing.md 4).
 */
export class LateSettlements {
  private readonly waiting = new Set<Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly messaging: Pick<Messaging, 'request'>,
    private readonly logger: Logger,
    private readonly delayMs: number,
  ) {}

  /** Settles with what `read` says after the delay; `delayMs` 0: the gateway has had its time. */
  schedule(read: () => SettleRequest, delayMs = this.delayMs): void {
    const settling = this.settle(read, delayMs).finally(() => this.waiting.delete(settling));
    this.waiting.add(settling);
  }

  /** What is still to be settled gets one try more, at once. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.waiting);
  }

  private async settle(read: () => SettleRequest, delayMs: number): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const pauseMs = attempt === 1 ? delayMs : Math.min(this.delayMs * attempt, PAUSE_MAX_MS);
      await delay(pauseMs, undefined, { signal: this.closing.signal }).catch(() => undefined);
      const settlement = read();
      const { holdId, reason } = settlement;
      try {
        const { status } = await this.messaging.request(holdSettle, settlement);
        if (status === 'settled') this.logger.info({ holdId, reason }, 'settled in place of the gateway');
        return;
      } catch (error) {
        this.logger.warn({ err: error, holdId, attempt }, 'late settlement failed');
        if (this.closing.signal.aborted) return;
      }
    }
  }
}
