export interface RetryOptions {
  /** Retries in percent of requests, in the long run. */
  retryPercent: number;
  /** Retries at once, which an upstream that has just failed may need. */
  retryBurst: number;
}

/** Retries a second that a model has at least. A percentage of little traffic would allow none. */
const PER_SECOND_MIN = 1;

/**
 * Token bucket of a model's retries, so that an outage does not multiply its own load: every request adds a part of a retry, every
 * second adds one, and each retry takes one.
 */
export class RetryBudget {
  private retries: number;
  private filledAt: number | undefined;

  constructor(private readonly options: RetryOptions) {
    this.retries = options.retryBurst;
  }

  /** Call once for every request. */
  onRequest(): void {
    this.retries = Math.min(this.options.retryBurst, this.retries + this.options.retryPercent / 100);
  }

  /** Takes a retry. Returns false when none is left. */
  take(now: number): boolean {
    const elapsedMs = now - (this.filledAt ?? now);
    this.filledAt = now;
    this.retries = Math.min(this.options.retryBurst, this.retries + (PER_SECOND_MIN * elapsedMs) / 1_000);
    if (this.retries < 1) return false;
    this.retries -= 1;
    return true;
  }
}
