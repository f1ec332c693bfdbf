import { setTimeout as delay } from 'node:timers/promises';
import type { SettleOutcome, SettleRequest } from '#contracts/billing/holds.js';
import { GatewayError } from '#inference/errors.js';
import type { Logger } from '#observability/logger.js';
import { describeErrorType, type Span } from '#tracing/tracer.js';
import { type BillingClient, isTransient } from '../clients/billing.js';

const FIRST_PAUSE_MS = 50;
const PAUSE_MAX_MS = 5_000;

interface SettlementLimits {
  /** Milliseconds that `settle` waits for billing's answer. */
  settleAnswerMs: number;
  /** Number of pending settlements at which new requests are refused. */
  settlementsPendingMax: number;
  /** Milliseconds that pending settlements may take at a shutdown. */
  settleFlushMs: number;
}

/** Fields that the log lines of a request share. */
export interface RequestFields {
  requestId: string;
  traceId: string | undefined;
  keyId: string;
}

/**
 * Settles holds, and repeats a failed attempt until billing answers. Repeating is safe, because billing answers a repeated request with
 * what it recorded first. A hold whose settlement is refused, or is still pending at the end of a shutdown, ends with its lease.
 */
export class SettleOnEnd {
  private readonly pendingSettlements = new Set<Promise<unknown>>();

  constructor(
    private readonly billing: Pick<BillingClient, 'settle'>,
    private readonly logger: Logger,
    private readonly limits: SettlementLimits,
  ) {}

  /** Number of settlements that billing has not answered yet. */
  get pending(): number {
    return this.pendingSettlements.size;
  }

  /** Throws `model_unavailable` when the number of pending settlements has reached `settlementsPendingMax`. */
  checkBacklog(): void {
    if (this.pendingSettlements.size < this.limits.settlementsPendingMax) return;
    throw new GatewayError('model_unavailable', 'Billing is temporarily unavailable. Try again.', { retryAfterSeconds: 5 });
  }

  /**
   * Resolves with the recorded outcome; with undefined when billing refuses, or after `settleAnswerMs`, while the attempts continue. Never
   * rejects. The span ends with the last attempt.
   */
  settle(request: SettleRequest, fields?: RequestFields, span?: Span): Promise<SettleOutcome | undefined> {
    const answered = this.untilAnswered(request, fields, span);
    this.pendingSettlements.add(answered);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), this.limits.settleAnswerMs);
      void answered.then((outcome) => {
        clearTimeout(timer);
        this.pendingSettlements.delete(answered);
        resolve(outcome);
      });
    });
  }

  /** Nest lifecycle hook: runs after all requests have ended. */
  async beforeApplicationShutdown(): Promise<void> {
    const pending = await this.flush(this.limits.settleFlushMs);
    if (pending > 0) this.logger.error({ pending }, 'shutdown: settlements not recorded, their holds end with their leases');
  }

  /** Waits for pending settlements. Returns the number still pending at the timeout. */
  async flush(timeoutMs: number): Promise<number> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const over = new Promise<void>((resolve) => deadline.addEventListener('abort', () => resolve(), { once: true }));
    while (this.pendingSettlements.size > 0 && !deadline.aborted) await Promise.race([Promise.allSettled(this.pendingSettlements), over]);
    return this.pendingSettlements.size;
  }

  private async untilAnswered(request: SettleRequest, fields?: RequestFields, span?: Span): Promise<SettleOutcome | undefined> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      try {
        const outcome = await this.billing.settle(request);
        span?.set({ 'tollgate.status': outcome.status });
        span?.end();
        return outcome;
      } catch (error) {
        const { holdId } = request;
        if (!isTransient(error)) {
          span?.fail(describeErrorType(error));
          span?.end();
          this.logger.error({ ...fields, holdId, err: error }, 'settlement refused by billing: the hold ends with its lease');
          return undefined;
        }
        span?.addEvent('retry', { 'error.type': describeErrorType(error) });
        this.logger.warn({ ...fields, holdId, err: error, pauseMs }, 'settlement failed: retrying');
        await delay(pauseMs / 2 + (Math.random() * pauseMs) / 2);
      }
    }
  }
}
