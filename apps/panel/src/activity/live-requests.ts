import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import type { Messaging } from '#messaging/messaging.js';
import { PanelError } from '../http/panel-error.js';

/** Each open page is one. */
const WATCHERS_MAX = 500;

type Watcher = (requests: readonly EndedRequest[]) => void;

/** Passes the requests of all gateways on to the pages that watch. Listens only while there are any. */
export class LiveRequests {
  /** Each watcher with the function that ends its page's stream. */
  private readonly watchers = new Map<Watcher, () => void>();
  private unsubscribe: (() => void) | undefined;

  constructor(private readonly messaging: Pick<Messaging, 'subscribe'>) {}

  /**
   * Returns the function that stops. `end` ends the page's stream, and is called when the panel stops.
   * @throws {PanelError} `unavailable` when too many pages watch.
   */
  watch(watcher: Watcher, end: () => void): () => void {
    if (this.watchers.size >= WATCHERS_MAX)
      throw new PanelError('unavailable', 'Too many pages watch live requests. Try again in a moment.');
    this.watchers.set(watcher, end);
    this.unsubscribe ??= this.messaging.subscribe(requestsEnded, ({ requests }) => {
      for (const one of this.watchers.keys()) one(requests);
    });
    return () => this.remove(watcher);
  }

  /** Ends the stream of every page. Pages connect again by themselves. */
  endAll(): void {
    for (const end of this.watchers.values()) end();
  }

  private remove(watcher: Watcher): void {
    this.watchers.delete(watcher);
    if (this.watchers.size > 0) return;
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }
}
