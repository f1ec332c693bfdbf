import { FairShares } from '#messaging/fair-shares.js';

export interface QueueOptions {
  /** Requests of one model that may wait. */
  queueMax: number;
  queueWaitMs: number;
}

/** Result of `admit`: what the request waits for, a failure, or undefined while it must wait. */
export type Admission<Grant> = { grant: Grant } | { failure: unknown } | undefined;

interface Waiter<Grant> {
  accountId: string;
  admit: () => Admission<Grant>;
  isLimited: boolean;
  until: number;
  resolve: (grant: Grant) => void;
  reject: (reason: unknown) => void;
  stopListening: () => void;
}

/**
 * Requests of one model that wait for room. Accounts are served round robin and have fair shares of the places. Requests of one account
 * are served in the order they came, but one that can use what has become free does not wait for one that cannot.
 */
export class AdmissionQueue<Grant> {
  /** All waiters, oldest first. */
  private readonly waiters = new Set<Waiter<Grant>>();
  /** The same by account; the account that was served last is at the end. */
  private readonly accounts = new Map<string, Set<Waiter<Grant>>>();
  private readonly places = new FairShares();
  /** One for all waiters; none while the queue is empty. */
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: QueueOptions,
    /** Makes the error of a request that has waited for `queueWaitMs`. */
    private readonly tooLate: () => unknown,
  ) {}

  get size(): number {
    return this.waiters.size;
  }

  /** True when another request of the account may wait. */
  hasRoom(accountId: string): boolean {
    return this.places.admits(accountId, this.options.queueMax);
  }

  /** Time at which the oldest waiter is given up. */
  get oldestUntil(): number {
    const [oldest] = this.waiters;
    return oldest?.until ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Waits until `admit` grants. Rejects with its failure, with `tooLate()`, or with the signal's reason. Call only when there is room.
   * `isLimited` is true for a request that cannot use every route: later entries may be admitted first, on the other routes.
   */
  wait(accountId: string, admit: () => Admission<Grant>, isLimited: boolean, signal: AbortSignal): Promise<Grant> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = (): void => this.remove(waiter, () => reject(signal.reason));
      const stopListening = (): void => signal.removeEventListener('abort', onAbort);
      const until = performance.now() + this.options.queueWaitMs;
      const waiter = { accountId, admit, isLimited, until, resolve, reject, stopListening };
      signal.addEventListener('abort', onAbort, { once: true });
      this.add(waiter);
      this.setTimer();
    });
  }

  /** Call when something has become free, or has been lost. */
  serve(): void {
    // An account that is served goes to the end of the map, where this loop meets it again, until none can be served.
    for (const [accountId, waiters] of this.accounts) {
      if (!this.serveOne(waiters) || waiters.size === 0) continue;
      this.accounts.delete(accountId);
      this.accounts.set(accountId, waiters);
    }
    this.setTimer();
  }

  /** Serves the first request of an account that can be served. Returns false when there is none. */
  private serveOne(waiters: ReadonlySet<Waiter<Grant>>): boolean {
    for (const waiter of waiters) {
      const admission = waiter.admit();
      if (admission !== undefined) {
        this.remove(waiter, () => ('grant' in admission ? waiter.resolve(admission.grant) : waiter.reject(admission.failure)));
        return true;
      }
      if (!waiter.isLimited) return false; // it could use any route, so the account's other requests cannot be served either
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

  private remove(waiter: Waiter<Grant>, complete: () => void): void {
    const { accountId } = waiter;
    const others = this.accounts.get(accountId);
    this.waiters.delete(waiter);
    this.places.add(accountId, -1);
    others?.delete(waiter);
    if (others?.size === 0) this.accounts.delete(accountId);
    if (this.waiters.size === 0) clearTimeout(this.timer);
    waiter.stopListening();
    complete();
  }

  private setTimer(): void {
    clearTimeout(this.timer);
    if (this.waiters.size > 0) this.timer = setTimeout(() => this.onTimer(), Math.max(1, this.oldestUntil - performance.now()));
  }

  private onTimer(): void {
    const now = performance.now();
    this.serve(); // a cooldown may have ended since
    for (const waiter of this.waiters) if (waiter.until <= now) this.remove(waiter, () => waiter.reject(this.tooLate()));
    this.setTimer();
  }
}
