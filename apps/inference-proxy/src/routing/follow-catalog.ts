import { catalogChanged, routeList } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { RevisionFollower } from '#messaging/revision-follower.js';
import type { Logger } from '#observability/logger.js';
import type { RouteTable } from './route-table.js';

/** Keeps the table equal to the catalog; while that is away the last known routes stand. Returns how to stop. */
export function followCatalog(messaging: Messaging, table: RouteTable, refreshMs: number, logger: Logger): () => void {
  const followed = { endpoint: routeList, changed: catalogChanged, refreshMs, apply: table.apply.bind(table) };
  return new RevisionFollower(messaging, followed, logger).start();
}
