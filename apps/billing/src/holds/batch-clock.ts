/** More than a clock that is being corrected gains or loses on this process's own. */
const DRIFT = 0.001;

/**
 * The database's clock between two readings, for batches that are decided before they reach the database. A reading is older than its
 * answer, so the clock that is made of it and of this process's own is never ahead, unless the database's was set back. The answer that came
 * fastest counts for the longest.
 */
export class BatchClock {
  /** The database's clock less ours, in milliseconds; at least so much when it was read, at `readAt` of ours. */
  private ahead: number | undefined;
  private readAt = 0;
  private last = 0;

  /** Milliseconds, never less than those of the batch before. Undefined before the first reading. */
  now(): number | undefined {
    if (this.ahead === undefined) return undefined;
    const at = performance.now();
    this.last = Math.max(this.last, Math.floor(at + this.aheadAt(at)));
    return this.last;
  }

  /** Call with the clock that a locked batch was decided by, as soon as it is read: it counts, whatever was known. */
  set(now: number): void {
    this.readAt = performance.now();
    this.ahead = now - this.readAt;
    this.last = now;
  }

  /** Call with the clock that a batch from memory has found, as soon as it has answered. */
  read(now: number): void {
    const at = performance.now();
    this.ahead = Math.max(now - at, this.aheadAt(at));
    this.readAt = at;
  }

  private aheadAt(at: number): number {
    return (this.ahead ?? Number.NEGATIVE_INFINITY) - DRIFT * (at - this.readAt);
  }
}
