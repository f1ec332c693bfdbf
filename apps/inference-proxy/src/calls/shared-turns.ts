/** Work that may be done before everyone else has a turn. */
const WORK_MS_MAX = 10;

/**
 * Shares the event loop during long work: a reply that is read without a reader to slow it down, a request of megabytes that is looked
 * through or rendered. A flooding upstream kept everyone waiting for 140 ms at a time, and for seconds on a busy machine.
 */
export class SharedTurns {
  private since = performance.now();

  /** Resolves at once, or in the next turn of the event loop when this one has taken long enough. */
  async shared(): Promise<void> {
    if (performance.now() - this.since < WORK_MS_MAX) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.since = performance.now();
  }
}
