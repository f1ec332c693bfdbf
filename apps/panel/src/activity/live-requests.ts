import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import { FairShares } from '#messaging/fair-shares.js';
import type { Messaging } from '#messaging/messaging.js';
import { PanelError } from '../errors/panel-error.js';

/** Pages that watch. An account, or the operators together, get 80 % of them at most, and less while others watch. */
const WATCHERS_MAX = 500;
/** Pages of one person: windows that are visible at once, since hidden ones stop to watch. */
const PERSON_WATCHERS_MAX = 6;

/** A page that watches. */
export interface Watcher {
  userId: string;
  /** Undefined: the whole platform. */
  accountId: string | undefined;
  receive: (requests: readonly EndedRequest[]) => void;
  /** Ends the stream of the page because the panel stops. The page connects again by itself. */
  end: () => void;
  /** Ends the stream of the page because another page of the person takes its place. */
  giveWay: () => void;
}

/** Passes the requests of all gateways on to the pages that watch. Listens only while there are any. */
export class LiveRequests {
  /** Oldest first. */
  private readonly watchers = new Set<Watcher>();
  private readonly shares = new FairShares();
  private unsubscribe: (() => void) | undefined;

  constructor(private readonly messaging: Pick<Messaging, 'subscribe'>) {}

  /**
   * Returns the function that stops, which may be called again. Beyond `PERSON_WATCHERS_MAX` the person's oldest page gives way: the newest
   * one is the one that they look at.
   * @throws {PanelError} `unavailable` when too many pages watch.
   */
  watch(watcher: Watcher): () => void {
    const own = [...this.watchers].filter(({ userId }) => userId === watcher.userId);
    if (own.length >= PERSON_WATCHERS_MAX) this.replace(own[0]);
    if (!this.shares.admits(findHolder(watcher), WATCHERS_MAX))
      throw new PanelError('unavailable', 'Too many pages watch live requests. Try again in a moment.', { retryAfterSeconds: 60 });
    this.watchers.add(watcher);
    this.shares.add(findHolder(watcher), 1);
    this.unsubscribe ??= this.messaging.subscribe(requestsEnded, ({ requests }) => {
      for (const { receive } of this.watchers) receive(requests);
    });
    return () => this.remove(watcher);
  }

  /** Ends the stream of every page. */
  endAll(): void {
    for (const { end } of this.watchers) end();
  }

  private replace(oldest: Watcher | undefined): void {
    if (oldest === undefined) return;
    this.remove(oldest);
    oldest.giveWay();
  }

  private remove(watcher: Watcher): void {
    if (!this.watchers.delete(watcher)) return;
    this.shares.add(findHolder(watcher), -1);
    if (this.watchers.size > 0) return;
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }
}

function findHolder({ accountId }: Watcher): string {
  return accountId ?? 'platform';
}
