import type { Route } from '#contracts/catalog.js';
import type { RouteMetrics } from '../metrics/route-metrics.js';
import type { RouteState } from './route-state.js';
import type { UpstreamClient } from './upstream-client.js';

/** A route as the catalog has it now. It may change with every one, while calls under way keep what they began with. */
export interface RouteEntry {
  route: Route;
  client: UpstreamClient;
  metrics: RouteMetrics;
}

export interface RouteObserver {
  /** The breaker has another state. */
  breakerMoved(route: RouteState): void;
  /** A call has ended: there may be room for another. */
  callEnded(): void;
}
