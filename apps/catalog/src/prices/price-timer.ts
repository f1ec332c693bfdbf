import type { Logger } from '#observability/logger.js';
import type { Applier } from '../apply/applier.js';
import type { ScheduledPrices } from './scheduled-prices.js';

const RETRY_MS = 1_000;

/**
 * Applies each scheduled price at its time. Every replica has a timer; the lock of the catalog lets one of them apply the price. A replica
 * looks at least every `pollMs` for prices that were scheduled through others, in case those die.
 */
export class PriceTimer {
  private timer: NodeJS.Timeout | undefined;
  private work: Promise<void> = Promise.resolve();
  private isStopped = false;
  private isFailing = false;

  constructor(
    private readonly applier: Pick<Applier, 'applyDuePrices'>,
    private readonly prices: Pick<ScheduledPrices, 'msUntilNext'>,
    private readonly pollMs: number,
    private readonly logger: Pick<Logger, 'warn' | 'info'>,
  ) {}

  /** Applies what is due and sets the timer. Call it at the start, and when a price was scheduled. */
  wake(): void {
    this.work = this.work.then(() => this.run());
  }

  /** Stops the timer and waits for a running apply. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.work;
  }

  private async run(): Promise<void> {
    clearTimeout(this.timer);
    if (this.isStopped) return;
    const waitMs = await this.applyDue();
    if (!this.isStopped) this.timer = setTimeout(() => this.wake(), waitMs);
  }

  /** Resolves to the milliseconds until the next run. Never rejects. */
  private async applyDue(): Promise<number> {
    try {
      await this.applier.applyDuePrices();
      const nextMs = (await this.prices.msUntilNext()) ?? this.pollMs;
      if (this.isFailing) this.logger.info('scheduled prices are applied again');
      this.isFailing = false;
      return Math.min(this.pollMs, Math.max(1, Math.ceil(nextMs)));
    } catch (error) {
      if (!this.isFailing) this.logger.warn({ err: error }, 'scheduled prices cannot be applied; retrying until the database answers');
      this.isFailing = true;
      return RETRY_MS;
    }
  }
}
