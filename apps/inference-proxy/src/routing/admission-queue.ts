import { FairShares } from '#messaging/fair-shares.js';

export interface QueueOptions {
  /** Requests of one model that may wait. */
  queueMax: number;
  queueWaitMs: number;
}

/** What a waiting request gets of its turn: what it waits for, nothing yet, or an end to its waiting. */
export type Turn<Grant> = { grant: Grant } | { refusal: unknown } | undefined;

interface Waiter<Grant> {
  accountId: string;
  tryTurn: () => Turn<Grant>;
  isChoosy: boolean;
  until: number;
  resolve: (grant: Grant) => void;
  reject: (reason: unknown) => void;
  leave: () => void;
}

/**
 * Requests of one model that wait for room. Accounts are served round robin, and have fair shares of the places; within an account it is
 * first come, first served, but a request that can use what has become free does not wait for one that cannot. One timer for all of
 * them, and none while the queue is empty.
 */
export class AdmissionQueue<Grant> {
  /** All that wait, oldest first. */
  private readonly waiters = new Set<Waiter<Grant>>();
  /** The same by account, the account that was served last at the end. */
  private readonly accounts = new Map<string, Set<Waiter<Grant>>>();
  private readonly places = new FairShares();
  private timer: NodeJS.Timeout | undefined;

  /** `tooLate` makes the error of a request whose time is over, `nextChangeMs` says when serving is worth while without a release. */
  constructor(
    private readonly terms: QueueOptions,
    private readonly tooLate: (accountId: string) => unknown,
    private readonly nextChangeMs: () => number,
  ) {}

  get size(): number {
    return this.waiters.size;
  }

  /** True when another request of the account may wait. */
  hasRoomFor(accountId: string): boolean {
    return this.places.admits(accountId, this.terms.queueMax);
  }

  /** When the first of them is given up. */
  get oldestUntil(): number {
    const [oldest] = this.waiters;
    return oldest?.until ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Only when there is room for the account. Rejects with the signal's reason when it fires, else with what the turn, or `tooLate`, says.
   * `isChoosy`: it cannot use everything that may become free.
   */
  wait(accountId: string, tryTurn: () => Turn<Grant>, isChoosy: boolean, signal: AbortSignal): Promise<Grant> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => this.remove(waiter, () => reject(signal.reason));
      const leave = (): void => signal.removeEventListener('abort', onAbort);
      const waiter = { accountId, tryTurn, isChoosy, until: performance.now() + this.terms.queueWaitMs, resolve, reject, leave };
      signal.addEventListener('abort', onAbort, { once: true });
      this.add(waiter);
      this.setTimer();
    });
  }

  /** Something has become free, or is known to be lost. */
  serve(): void {
    // An account that gets something goes to the end of the map, where this loop meets it again: until none gets anything.
    for (const [accountId, waiters] of this.accounts) {
      if (!this.serveOne(waiters) || waiters.size === 0) continue;
      this.accounts.delete(accountId);
      this.accounts.set(accountId, waiters);
    }
    this.setTimer();
  }

  /** Serves the first of an account's requests that can be. False when there is none. */
  private serveOne(waiters: ReadonlySet<Waiter<Grant>>): boolean {
    for (const waiter of waiters) {
      const turn = waiter.tryTurn();
      if (turn !== undefined) {
        this.remove(waiter, () => ('grant' in turn ? waiter.resolve(turn.grant) : waiter.reject(turn.refusal)));
        return true;
      }
      if (!waiter.isChoosy) return false; // nothing is left for this account
    }
    return false;
  }

  private add(waiter: Waiter<Grant>): void {
    const { accountId } = waiter;
    this.waiters.add(waiter);
    this.places.add(accountId, 1);
    const others = this.accounts.get(accountId);
    if (others === undefined) this.accounts.set(accountId, new Set([waiter]));
    else others.add(waiter);
  }

  private remove(waiter: Waiter<Grant>, tell: () => void): void {
    const { accountId } = waiter;
    const others = this.accounts.get(accountId);
    this.waiters.delete(waiter);
    this.places.add(accountId, -1);
    others?.delete(waiter);
    if (others?.size === 0) this.accounts.delete(accountId);
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
    for (const waiter of this.waiters) if (waiter.until <= now) this.remove(waiter, () => waiter.reject(this.tooLate(waiter.accountId)));
    this.setTimer();
  }
}
