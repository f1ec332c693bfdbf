/** Work that one reply may have before everyone else has a turn. */
const WORK_MS_MAX = 10;

/**
 * Shares the event loop while a reply is read that has no reader to slow it down. An upstream that floods us would otherwise keep everyone
 * waiting for as long as its socket has bytes: measured 140 ms at a time, and seconds on a busy machine.
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
