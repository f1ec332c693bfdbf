import { setTimeout as delay } from 'node:timers/promises';
import type { SettleOutcome, SettleRequest } from '#contracts/billing/holds.js';
import { GatewayError } from '#inference/errors.js';
import type { Logger } from '#observability/logger.js';
import { type BillingClient, isTransient } from '../clients/billing.js';

const FIRST_PAUSE_MS = 50;
const PAUSE_MAX_MS = 5_000;

interface SettlementLimits {
  /** Milliseconds that `settle` waits before its caller continues. */
  settleAnswerMs: number;
  /** Open settlements beyond which no request is admitted. */
  settlementsPendingMax: number;
  /** Milliseconds that open settlements may take at a shutdown. */
  settleFlushMs: number;
}

/**
 * Settles each hold exactly once: a failed attempt is repeated until billing answers. Repeating is safe, because billing answers a repeated
 * request with what it recorded first.
 */
export class SettleOnEnd {
  private readonly open = new Set<Promise<unknown>>();

  constructor(
    private readonly billing: Pick<BillingClient, 'settle'>,
    private readonly logger: Logger,
    private readonly limits: SettlementLimits,
  ) {}

  /** Settlements that billing has not recorded yet. */
  get pending(): number {
    return this.open.size;
  }

  /** Throws `model_unavailable` while too many settlements are open to admit another request. */
  checkBacklog(): void {
    if (this.open.size < this.limits.settlementsPendingMax) return;
    throw new GatewayError('model_unavailable', 'Billing is temporarily unavailable. Try again.', { retryAfterSeconds: 5 });
  }

  /** Resolves with the recorded outcome, or with undefined after `settleAnswerMs`; the attempts then continue. Never rejects. */
  async settle(request: SettleRequest): Promise<SettleOutcome | undefined> {
    const recorded = this.untilRecorded(request);
    this.open.add(recorded);
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), this.limits.settleAnswerMs);
    });
    const outcome = recorded.finally(() => {
      clearTimeout(timer);
      this.open.delete(recorded);
    });
    return Promise.race([outcome, tooLong]);
  }

  /** Nest lifecycle hook: runs when no request is left. */
  async beforeApplicationShutdown(): Promise<void> {
    const left = await this.flush(this.limits.settleFlushMs);
    if (left > 0) this.logger.error({ left }, 'settlements left to their leases');
  }

  /** Waits for open settlements. Returns the number left at the timeout; their holds end with their leases. */
  async flush(timeoutMs: number): Promise<number> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const over = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve(), { once: true }));
    while (this.open.size > 0 && !deadline.aborted) await Promise.race([Promise.allSettled(this.open), over]);
    return this.open.size;
  }

  private async untilRecorded(request: SettleRequest): Promise<SettleOutcome | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      try {
        return await this.billing.settle(request);
      } catch (error) {
        const { holdId } = request;
        if (!isTransient(error)) {
          this.logger.error({ holdId, err: error }, 'settlement refused: hold left to its lease');
          return undefined;
        }
        this.logger.warn({ holdId, err: error, pauseMs }, 'settlement failed: retrying');
        await delay(pauseMs / 2 + (Math.random() * pauseMs) / 2);
      }
    }
  }
}
