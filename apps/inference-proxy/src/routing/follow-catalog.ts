import { catalogChanged, routeList } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { RouteBook } from './route-book.js';

const RETRY_MS = 1_000;

/**
 * Keeps the book equal to the catalog: at once, on every change it announces, after every reconnect (announcements may have
 * been missed), and every `refreshMs` for good measure. While the catalog is away the last known routes stand. Returns
 * the function that stops it.
 */
export function followCatalog(messaging: Messaging, book: RouteBook, refreshMs: number, logger: Logger): () => void {
  let timer: NodeJS.Timeout | undefined;
  let refreshing = false;
  let again = false;
  let stopped = false;

  const refresh = async (): Promise<void> => {
    if (refreshing) {
      again = true; // what is being read may be older than what was announced
      return;
    }
    refreshing = true;
    clearTimeout(timer);
    let next = refreshMs;
    try {
      do {
        again = false;
        const reply = await messaging.request(routeList, {});
        if (!stopped) book.apply(reply);
      } while (again && !stopped);
    } catch (error) {
      next = book.isKnown ? Math.min(refreshMs, 5 * RETRY_MS) : RETRY_MS;
      if (!stopped) logger.warn({ err: error }, 'the catalog does not answer; known routes stay');
    }
    refreshing = false;
    if (!stopped) timer = setTimeout(() => void refresh(), next);
  };

  const unsubscribe = messaging.subscribe(catalogChanged, () => void refresh());
  messaging.onReconnect(() => {
    if (!stopped) void refresh();
  });
  void refresh();
  return () => {
    stopped = true;
    clearTimeout(timer);
    unsubscribe();
  };
}
