import { setTimeout as delay } from 'node:timers/promises';
import type { SettleOutcome, SettleRequest } from '#contracts/billing/holds.js';
import { GatewayError } from '#inference/errors.js';
import type { Logger } from '#observability/logger.js';
import { type BillingClient, isTransient } from '../clients/billing.js';

const FIRST_PAUSE_MS = 50;
const PAUSE_MAX_MS = 5_000;

export interface SettlementLimits {
  /** Milliseconds that `settle` waits before its caller continues. */
  settleAnswerMs: number;
  /** Open settlements beyond which no request is admitted. */
  settlementsPendingMax: number;
  /** Milliseconds that open settlements may take at a shutdown. */
  settleFlushMs: number;
}

/**
 * Ends holds, each exactly once, whatever happens: an attempt that fails is repeated until billing has answered. Repeating is
 * safe, since billing answers the second time with what it recorded the first.
 */
export class SettleOnEnd {
  private readonly open = new Set<Promise<unknown>>();

  constructor(
    private readonly billing: Pick<BillingClient, 'settle'>,
    private readonly logger: Logger,
    private readonly limits: SettlementLimits,
  ) {}

  /** Settlements that are not safe yet. */
  get pending(): number {
    return this.open.size;
  }

  /** Throws `model_unavailable` while so many settlements are open that no more work should be begun. */
  checkBacklog(): void {
    if (this.open.size < this.limits.settlementsPendingMax) return;
    throw new GatewayError('model_unavailable', 'Billing is temporarily unavailable. Try again.', { retryAfterSeconds: 5 });
  }

  /** Resolves with what was recorded; with undefined when that takes too long, and settles on in the background. Never rejects. */
  async settle(request: SettleRequest): Promise<SettleOutcome | undefined> {
    const safe = this.untilSafe(request);
    this.open.add(safe);
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), this.limits.settleAnswerMs);
    });
    const outcome = safe.finally(() => {
      clearTimeout(timer);
      this.open.delete(safe);
    });
    return Promise.race([outcome, tooLong]);
  }

  /** Nest lifecycle hook: runs when no request is left. */
  async beforeApplicationShutdown(): Promise<void> {
    const left = await this.flush(this.limits.settleFlushMs);
    if (left > 0) this.logger.error({ left }, 'settlements left to their leases');
  }

  /** At shutdown: waits for what is still open, and says how many were left when the time was over. Their leases end them. */
  async flush(timeoutMs: number): Promise<number> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const over = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve(), { once: true }));
    while (this.open.size > 0 && !deadline.aborted) await Promise.race([Promise.allSettled(this.open), over]);
    return this.open.size;
  }

  private async untilSafe(request: SettleRequest): Promise<SettleOutcome | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      try {
        return await this.billing.settle(request);
      } catch (error) {
        const { holdId } = request;
        if (!isTransient(error)) {
          this.logger.error({ holdId, err: error }, 'settlement refused: the hold is left to its lease');
          return undefined;
        }
        this.logger.warn({ holdId, err: error, pauseMs }, 'settlement failed, trying again');
        await delay(pauseMs / 2 + (Math.random() * pauseMs) / 2);
      }
    }
  }
}
