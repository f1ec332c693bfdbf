import { type EndedRequest, requestsEnded } from '#contracts/gateway.js';
import type { Messaging } from '#messaging/messaging.js';
import { PanelError } from '../http/panel-error.js';

/** Each open page is one. */
const WATCHERS_MAX = 500;

type Watcher = (requests: readonly EndedRequest[]) => void;

/** Passes the requests of all gateways on to the pages that watch. Listens only while there are any. */
export class LiveRequests {
  private readonly watchers = new Set<Watcher>();
  private unsubscribe: (() => void) | undefined;

  constructor(private readonly messaging: Pick<Messaging, 'subscribe'>) {}

  /** Returns the function that stops. @throws {PanelError} `unavailable` when too many pages watch. */
  watch(watcher: Watcher): () => void {
    if (this.watchers.size >= WATCHERS_MAX)
      throw new PanelError('unavailable', 'Too many pages watch live requests. Try again in a moment.');
    this.watchers.add(watcher);
    this.unsubscribe ??= this.messaging.subscribe(requestsEnded, ({ requests }) => {
      for (const one of this.watchers) one(requests);
    });
    return () => this.end(watcher);
  }

  private end(watcher: Watcher): void {
    this.watchers.delete(watcher);
    if (this.watchers.size > 0) return;
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }
}
