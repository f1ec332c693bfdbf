/** Time constant: after two seconds a third of the value is left, so a route ten times slower is tried again after some three seconds. */
const DECAY_MS = 2_000;
/** Without an observation for this long, the latency is unknown. */
const FORGET_MS = 4_000;

/**
 * Milliseconds to the first content, as a moving average that rises at once and falls with time. It must fall, because a route that
 * looks slow gets no calls that could show it to be fast again.
 */
export class PeakLatency {
  private valueMs = 0;
  private observedAt: number | undefined;

  observe(ms: number, now: number): void {
    const kept = this.observedAt === undefined || ms > this.valueMs ? 0 : Math.exp((this.observedAt - now) / DECAY_MS);
    this.valueMs = this.valueMs * kept + ms * (1 - kept);
    this.observedAt = now;
  }

  /** Returns undefined when nothing was observed in the last seconds. */
  readMs(now: number): number | undefined {
    if (this.observedAt === undefined || now - this.observedAt > FORGET_MS) return undefined;
    return this.valueMs * Math.exp((this.observedAt - now) / DECAY_MS);
  }

  forget(): void {
    this.observedAt = undefined;
  }
}
