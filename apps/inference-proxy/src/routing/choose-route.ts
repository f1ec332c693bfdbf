import { UpstreamFailure } from '../upstream-failure.js';

/** What the choice needs to know of a route. */
export interface Choosable {
  weight: number;
  /** Lower is tried first. */
  priority: number;
  isUp: boolean;
  isFull: boolean;
}

const CAPACITY_RETRY_AFTER_SECONDS = 1;
const UNAVAILABLE_RETRY_AFTER_SECONDS = 2;

/**
 * A weighted choice among the usable routes of the lowest priority tier that has any. Throws `UpstreamFailure`:
 * `model_capacity` when all that keeps a route from being used is that it is full, else `model_unavailable`.
 * `random` is in [0, 1).
 */
export function chooseRoute<Route extends Choosable>(routes: readonly Route[], random: number): Route {
  const up = routes.filter((route) => route.isUp && route.weight > 0);
  const usable = up.filter((route) => !route.isFull);
  if (usable.length === 0) {
    throw up.length > 0
      ? new UpstreamFailure('refused', 'model_capacity', { detail: 'every route is full', retryAfterSeconds: CAPACITY_RETRY_AFTER_SECONDS })
      : new UpstreamFailure('unreachable', 'model_unavailable', {
          detail: 'no route is up',
          retryAfterSeconds: UNAVAILABLE_RETRY_AFTER_SECONDS,
        });
  }
  const tier = Math.min(...usable.map((route) => route.priority));
  const candidates = usable.filter((route) => route.priority === tier);
  let point = random * candidates.reduce((sum, route) => sum + route.weight, 0);
  for (const route of candidates) {
    point -= route.weight;
    if (point < 0) return route;
  }
  return candidates.at(-1) as Route;
}
