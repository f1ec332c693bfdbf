import { catalogChanged, routeList } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { RevisionFollower } from '#messaging/revision-follower.js';
import type { Logger } from '#observability/logger.js';
import type { RouteBook } from './route-book.js';

/** Keeps the book equal to the catalog; while that is away the last known routes stand. Returns how to stop. */
export function followCatalog(messaging: Messaging, book: RouteBook, refreshMs: number, logger: Logger): () => void {
  const followed = { endpoint: routeList, changed: catalogChanged, refreshMs, apply: book.apply.bind(book) };
  return new RevisionFollower(messaging, followed, logger).start();
}
