import { setTimeout as delay } from 'node:timers/promises';
import { holdRenew, holdSettle, type SettleRequest } from '#contracts/billing/holds.js';
import type { CallContext, Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { RunFields } from './run-fields.js';

const PAUSE_MAX_MS = 30_000;
/** By then the lease and its grace have ended, unless billing was away all the time. */
const ATTEMPTS_MAX = 100;

/** The gateway that should settle. */
type Gateway = Pick<CallContext, 'callerIsThere'>;

const NO_GATEWAY: Gateway = { callerIsThere: async () => false };

/**
 * Settles holds whose gateway is gone, and retries until billing answers. A gateway that is alive settles itself, however long that
 * takes: only the gateway knows what its client received. After a NATS outage the proxy may have sent events that never arrived, and
 * the client must not pay for them.
 */
export class SettleForGateway {
  private readonly waiting = new Set<Promise<void>>();
  private readonly closing = new AbortController();

  constructor(
    private readonly messaging: Pick<Messaging, 'request'>,
    private readonly logger: Logger,
    private readonly delayMs: number,
  ) {}

  /** Settles with the result of `read` after the delay, once the gateway is gone. */
  schedule(read: () => SettleRequest, gateway: Gateway, fields: RunFields, delayMs = this.delayMs): void {
    const settling = this.settle(read, gateway, fields, delayMs).finally(() => this.waiting.delete(settling));
    this.waiting.add(settling);
  }

  /**
   * Settles a hold that the gateway has left to the proxy, as soon as `read` resolves. `read` never rejects. `closing` fires at shutdown:
   * `read` then resolves at once with what is known.
   */
  settleAfter(read: (closing: AbortSignal) => Promise<SettleRequest>, fields: RunFields): void {
    const settling = read(this.closing.signal)
      .then((settlement) => this.settle(() => settlement, NO_GATEWAY, fields, 0))
      .finally(() => this.waiting.delete(settling));
    this.waiting.add(settling);
  }

  /** Tries every open settlement once more, at once. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.waiting);
  }

  private async settle(read: () => SettleRequest, gateway: Gateway, fields: RunFields, delayMs: number): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      const pauseMs = attempt === 1 ? delayMs : Math.min(this.delayMs * attempt, PAUSE_MAX_MS);
      await delay(pauseMs, undefined, { signal: this.closing.signal }).catch(() => undefined);
      const settlement = read();
      const { holdId, reason } = settlement;
      try {
        if (!(await this.isOpen(holdId))) return;
        if (!(await gateway.callerIsThere())) {
          const { status } = await this.messaging.request(holdSettle, { ...settlement, settledBy: 'inference-proxy' });
          if (status === 'settled') this.logger.info({ ...fields, reason }, 'hold settled for a gateway that is gone');
          return;
        }
      } catch (error) {
        this.logger.warn({ ...fields, err: error, attempt }, 'settlement failed');
      }
      if (this.closing.signal.aborted) return;
    }
  }

  /** Asks billing first, because nearly every gateway has settled by now. */
  private async isOpen(holdId: string): Promise<boolean> {
    const { unsettled } = await this.messaging.request(holdRenew, { renewals: [], ended: [holdId] });
    return unsettled === undefined || unsettled.includes(holdId);
  }
}
