export interface LineTerms {
  /** Requests of one model that may wait. */
  queueMax: number;
  queueWaitMs: number;
}

/** What a waiting request gets of its turn: what it waits for, nothing yet, or an end to its waiting. */
export type Turn<Grant> = { grant: Grant } | { refusal: unknown } | undefined;

interface Waiter<Grant> {
  tryTurn: () => Turn<Grant>;
  isChoosy: boolean;
  until: number;
  resolve: (grant: Grant) => void;
  reject: (reason: unknown) => void;
  leave: () => void;
}

/**
 * Requests of one model that wait for room, first come, first served; but whoever can use what has become free is not kept
 * waiting by one who cannot. One timer for all of them, and none while nobody waits.
 */
export class WaitingLine<Grant> {
  private readonly waiters = new Set<Waiter<Grant>>();
  private timer: NodeJS.Timeout | undefined;

  /** `tooLate` makes the error of those whose time is over, `nextChangeMs` says when serving is worth while without a release. */
  constructor(
    private readonly terms: LineTerms,
    private readonly tooLate: () => unknown,
    private readonly nextChangeMs: () => number,
  ) {}

  get size(): number {
    return this.waiters.size;
  }

  get isFull(): boolean {
    return this.waiters.size >= this.terms.queueMax;
  }

  /** When the first of them is given up. */
  get oldestUntil(): number {
    const [oldest] = this.waiters;
    return oldest?.until ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Only when it is not full. Rejects with the signal's reason when it fires, else with what the turn, or `tooLate`, says.
   * `isChoosy`: it cannot use everything that may become free.
   */
  wait(tryTurn: () => Turn<Grant>, isChoosy: boolean, signal: AbortSignal): Promise<Grant> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => this.remove(waiter, () => reject(signal.reason));
      const leave = (): void => signal.removeEventListener('abort', onAbort);
      const waiter = { tryTurn, isChoosy, until: performance.now() + this.terms.queueWaitMs, resolve, reject, leave };
      signal.addEventListener('abort', onAbort, { once: true });
      this.waiters.add(waiter);
      this.setTimer();
    });
  }

  /** Something has become free, or is known to be lost. */
  serve(): void {
    for (const waiter of this.waiters) {
      const turn = waiter.tryTurn();
      if (turn === undefined && !waiter.isChoosy) break; // nothing is left for anybody
      if (turn === undefined) continue;
      this.remove(waiter, () => ('grant' in turn ? waiter.resolve(turn.grant) : waiter.reject(turn.refusal)));
    }
    this.setTimer();
  }

  private remove(waiter: Waiter<Grant>, tell: () => void): void {
    this.waiters.delete(waiter);
    if (this.waiters.size === 0) clearTimeout(this.timer);
    waiter.leave();
    tell();
  }

  private setTimer(): void {
    clearTimeout(this.timer);
    if (this.waiters.size === 0) return;
    const dueMs = Math.min(this.oldestUntil - performance.now(), this.nextChangeMs());
    this.timer = setTimeout(() => this.onTimer(), Math.max(1, dueMs));
  }

  private onTimer(): void {
    const now = performance.now();
    this.serve();
    for (const waiter of this.waiters) if (waiter.until <= now) this.remove(waiter, () => waiter.reject(this.tooLate()));
    this.setTimer();
  }
}
