import { setTimeout as delay } from 'node:timers/promises';
import { holdRenew, holdSettle, type SettleRequest } from '#contracts/billing/holds.js';
import type { CallContext, Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';

const PAUSE_MAX_MS = 30_000;
/** A lease with its grace is over by then, unless billing was away all the time. */
const ATTEMPTS_MAX = 100;

/** Who should settle: a gateway. */
type Gateway = Pick<CallContext, 'callerIsThere'>;

const NO_GATEWAY: Gateway = { callerIsThere: async () => false };

/**
 * Settles what a gateway that has gone cannot, and asks until billing has answered (billing.md 4). One that lives is left to
 * it, however long it takes: the gateway alone knows what its client was given. When NATS was away the two ends of a stream
 * know different things, and a client that was told of an error must not pay for what never reached it.
 */
export class LateSettlements {
  private readonly waiting = new Set<Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly messaging: Pick<Messaging, 'request'>,
    private readonly logger: Logger,
    private readonly delayMs: number,
  ) {}

  /** Settles with what `read` says after the delay, once the gateway is gone; `delayMs` 0: it has had its time. */
  schedule(read: () => SettleRequest, gateway: Gateway, delayMs = this.delayMs): void {
    const settling = this.settle(read, gateway, delayMs).finally(() => this.waiting.delete(settling));
    this.waiting.add(settling);
  }

  /**
   * Settles what a gateway has left to the proxy, as soon as `read` resolves, which never rejects. `closing` fires at a shutdown:
   * `read` then resolves at once with what is known.
   */
  settleAfter(read: (closing: AbortSignal) => Promise<SettleRequest>): void {
    const settling = read(this.closing.signal)
      .then((settlement) => this.settle(() => settlement, NO_GATEWAY, 0))
      .finally(() => this.waiting.delete(settling));
    this.waiting.add(settling);
  }

  /** What is still to be settled gets one try more, at once. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.waiting);
  }

  private async settle(read: () => SettleRequest, gateway: Gateway, delayMs: number): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const pauseMs = attempt === 1 ? delayMs : Math.min(this.delayMs * attempt, PAUSE_MAX_MS);
      await delay(pauseMs, undefined, { signal: this.closing.signal }).catch(() => undefined);
      const settlement = read();
      const { holdId, reason } = settlement;
      try {
        if (!(await this.isOpen(holdId))) return;
        if (!(await gateway.callerIsThere())) {
          const { status } = await this.messaging.request(holdSettle, { ...settlement, settledBy: 'inference-proxy' });
          if (status === 'settled') this.logger.info({ holdId, reason }, 'settled in place of the gateway');
          return;
        }
      } catch (error) {
        this.logger.warn({ err: error, holdId, attempt }, 'late settlement failed');
      }
      if (this.closing.signal.aborted) return;
    }
  }

  /** Nearly every gateway has settled by now: then nothing is left to see to, and nothing to remember. */
  private async isOpen(holdId: string): Promise<boolean> {
    const { unsettled } = await this.messaging.request(holdRenew, { renewals: [], ended: [holdId] });
    return unsettled === undefined || unsettled.includes(holdId);
  }
}
