export interface RetryOptions {
  /** Second calls in percent of requests, in the long run. */
  retryPercent: number;
  /** Second calls at once: what a dying upstream may owe. */
  retryBurst: number;
}

/** Where there is little traffic, a percentage of it would be nothing. */
const PER_SECOND_MIN = 1;

/**
 * What a model may spend on second calls, so that an outage does not multiply its own load: every request brings a share of
 * a call, every second a little, and each second call takes a whole one.
 */
export class RetryBudget {
  private calls: number;
  private filledAt: number | undefined;

  constructor(private readonly terms: RetryOptions) {
    this.calls = terms.retryBurst;
  }

  /** A request has come. */
  deposit(): void {
    this.calls = Math.min(this.terms.retryBurst, this.calls + this.terms.retryPercent / 100);
  }

  /** Whether a second call may be made; if so, it has been paid for. */
  withdraw(now: number): boolean {
    const elapsedMs = now - (this.filledAt ?? now);
    this.filledAt = now;
    this.calls = Math.min(this.terms.retryBurst, this.calls + (PER_SECOND_MIN * elapsedMs) / 1_000);
    if (this.calls < 1) return false;
    this.calls -= 1;
    return true;
  }
}
