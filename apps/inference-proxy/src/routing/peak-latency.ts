/**
 * How long a route takes to the first content, as a moving average that goes up at once and comes down with time: one slow
 * answer is a warning, and silence is forgetting. Without forgetting, a route that was slow once would never be asked again,
 * and nobody would know that it is not slow any more.
 */
export class PeakLatency {
  private valueMs = 0;
  private observedAt: number | undefined;

  observe(ms: number, now: number): void {
    if (this.observedAt === undefined || ms > this.valueMs) {
      this.valueMs = ms;
    } else {
      const kept = Math.exp((this.observedAt - now) / DECAY_MS);
      this.valueMs = this.valueMs * kept + ms * (1 - kept);
    }
    this.observedAt = now;
  }

  /** A call was given up before its answer. Several in a row add up: so long the route has been asked, and has said nothing. */
  addUnanswered(ms: number, now: number): void {
    this.valueMs = (this.readMs(now) ?? 0) + ms;
    this.observedAt = now;
  }

  /** What was is no more: an upstream has come back. */
  forget(): void {
    this.observedAt = undefined;
  }

  /** Undefined when there was no answer lately: nothing is known then, good or bad. */
  readMs(now: number): number | undefined {
    if (this.observedAt === undefined || now - this.observedAt > FORGET_MS) return undefined;
    return this.valueMs * Math.exp((this.observedAt - now) / DECAY_MS);
  }
}

/** After so long a third is left: ten times too slow is worth another look after three seconds. */
const DECAY_MS = 2_000;
const FORGET_MS = 4_000;
