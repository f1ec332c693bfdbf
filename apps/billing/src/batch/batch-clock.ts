/** Drift allowed between the two clocks, above what clock correction causes. */
const DRIFT = 0.001;

/**
 * Estimates the database's clock between two readings, for batches that are decided before they reach the database. A reading is older than
 * its answer, so the estimate is never ahead, unless the database's clock was set back. Of several readings the one with the shortest delay
 * gives the highest estimate; it is used until the allowed drift outweighs it.
 */
export class BatchClock {
  /** Lower bound of the database's clock less ours, in milliseconds, as read at `readAt` of ours. */
  private ahead: number | undefined;
  private readAt = 0;
  private last = 0;

  /** Returns milliseconds, never less than those of the batch before. Undefined before the first reading. */
  now(): number | undefined {
    if (this.ahead === undefined) return undefined;
    const at = performance.now();
    this.last = Math.max(this.last, Math.floor(at + this.aheadAt(at)));
    return this.last;
  }

  /** Call with the clock that decided a locked batch, as soon as it is read. Replaces the estimate. */
  reset(now: number): void {
    this.readAt = performance.now();
    this.ahead = now - this.readAt;
    this.last = now;
  }

  /** Call with the clock that a cached batch returned, as soon as it arrives. Only raises the estimate. */
  observe(now: number): void {
    const at = performance.now();
    this.ahead = Math.max(now - at, this.aheadAt(at));
    this.readAt = at;
  }

  private aheadAt(at: number): number {
    return (this.ahead ?? Number.NEGATIVE_INFINITY) - DRIFT * (at - this.readAt);
  }
}
