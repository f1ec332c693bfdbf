import type { Route } from '#contracts/catalog.js';
import type { RouteMetrics } from '../metrics/route-metrics.js';
import type { ModelRoute } from './model-route.js';
import type { UpstreamLink } from './upstream-link.js';

/** A route as the catalog has it now. It may change with every one, while calls under way keep what they began with. */
export interface RouteEntry {
  route: Route;
  link: UpstreamLink;
  metrics: RouteMetrics;
}

export interface RouteObserver {
  /** The breaker has another state. */
  breakerMoved(route: ModelRoute): void;
  /** A call has ended: there may be room for another. */
  callEnded(): void;
}
