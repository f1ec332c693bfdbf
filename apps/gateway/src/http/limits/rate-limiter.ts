/**
 * Token buckets by name: `perSecond` in the long run, `burst` at once. A bucket is one number, the time at which it will be full again,
 * so a full bucket needs no entry. At most `entriesMax` are kept; the ones unused for longest are forgotten, which fills them.
 */
export class RateLimiter {
  private readonly fullAt = new Map<string, number>();

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
    private readonly entriesMax: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Takes a token. Returns 0, or the milliseconds until there is one. */
  take(name: string): number {
    const waitMs = this.waitMs(name);
    if (waitMs > 0) return waitMs;
    const fullAt = Math.max(this.fullAt.get(name) ?? 0, this.now()) + this.tokenMs;
    this.fullAt.delete(name);
    this.fullAt.set(name, fullAt);
    if (this.fullAt.size > this.entriesMax) this.forgetOldest();
    return 0;
  }

  /** Milliseconds until there is a token; 0 when there is one. */
  waitMs(name: string): number {
    const fullInMs = (this.fullAt.get(name) ?? 0) - this.now();
    return Math.max(0, fullInMs - (this.burst - 1) * this.tokenMs);
  }

  private get tokenMs(): number {
    return 1_000 / this.perSecond;
  }

  /** A map remembers the order of insertion: the first is the oldest. */
  private forgetOldest(): void {
    const oldest = this.fullAt.keys().next();
    if (!oldest.done) this.fullAt.delete(oldest.value);
  }
}
