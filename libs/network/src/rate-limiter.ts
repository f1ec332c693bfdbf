/**
 * Token buckets by name: `perSecond` on average, `burst` at once. A bucket is stored as the time at which it is full again; a full bucket
 * needs no entry. Beyond `entriesMax`, the least recently used buckets are dropped, which refills them.
 */
export class RateLimiter {
  private readonly fullAt = new Map<string, number>();

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
    private readonly entriesMax: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes a token. Returns 0, or the milliseconds until a token is available. */
  take(name: string): number {
    const waitMs = this.waitMs(name);
    if (waitMs > 0) return waitMs;
    const fullAt = Math.max(this.fullAt.get(name) ?? 0, this.now()) + this.tokenMs;
    this.fullAt.delete(name);
    this.fullAt.set(name, fullAt);
    if (this.fullAt.size > this.entriesMax) this.forgetOldest();
    return 0;
  }

  /** Returns the milliseconds until a token is available; 0 when there is one. */
  waitMs(name: string): number {
    const fullInMs = (this.fullAt.get(name) ?? 0) - this.now();
    return Math.max(0, fullInMs - (this.burst - 1) * this.tokenMs);
  }

  private get tokenMs(): number {
    return 1_000 / this.perSecond;
  }

  /** A map iterates in insertion order: the first entry is the oldest. */
  private forgetOldest(): void {
    const oldest = this.fullAt.keys().next();
    if (!oldest.done) this.fullAt.delete(oldest.value);
  }
}
