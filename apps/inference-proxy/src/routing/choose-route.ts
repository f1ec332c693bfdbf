import { affinity } from './prompt-prefix.js';

/** A route at one moment, as one account sees it. Routes that may not be called at all are not in the list to choose from. */
export interface RouteView {
  /** Hash of the route's name, for cache affinity. */
  hash: number;
  /** Routes of a lower number are used first. */
  priority: number;
  /** Share of the traffic among routes of one priority; above 0. */
  weight: number;
  inFlight: number;
  /** Milliseconds to the first content by recent streams; undefined when there were none. */
  latencyMs: number | undefined;
  /** Milliseconds that the oldest stream without content has been waiting; 0 when none is. */
  waitingMs: number;
  /** `probe-due`: the next call is a probe. `open`: during the cooldown, while a probe is in flight, and while the health check fails. */
  circuit: 'closed' | 'probe-due' | 'open';
  /** False when a cap, or the account's share of it, is used up. */
  hasRoom: boolean;
}

/** The preferred route may have this many times the load of another. A lower factor would give up prompt caches for small differences. */
const LOAD_RATIO_MAX = 2;
/** Milliseconds to the first content where no recent stream has shown it. */
const UNKNOWN_LATENCY_MS = 1_000;

/**
 * Returns the index of the route to call, `full` when none has room, or `none` when there is no route.
 *
 * 1. Routes with an open circuit are left out, unless all are open (panic mode).
 * 2. Of the others, those with room; of these, those with the smallest `priority` number.
 * 3. A route that is due a probe is taken first.
 * 4. Otherwise the route that `key` prefers, unless another, picked at random, has less than half its load.
 *
 * `key` is the hash of the prompt's beginning, so that a conversation stays where its prompt is cached. `random` returns a number in [0, 1).
 */
export function chooseRoute(routes: readonly RouteView[], key: number, random: () => number): number | 'full' | 'none' {
  const healthy = routes.filter(({ circuit }) => circuit !== 'open');
  const callable = healthy.length > 0 ? healthy : routes;
  if (callable.length === 0) return 'none';
  const withRoom = callable.filter(({ hasRoom }) => hasRoom);
  if (withRoom.length === 0) return 'full';
  const lowest = Math.min(...withRoom.map(({ priority }) => priority));
  const tier = withRoom.filter(({ priority }) => priority === lowest);
  const probe = tier.find(({ circuit }) => circuit === 'probe-due');
  return routes.indexOf(probe ?? preferred(tier, key, random));
}

/** Weighted cache affinity and the power of two choices. */
function preferred(routes: readonly RouteView[], key: number, random: () => number): RouteView {
  const [only] = routes;
  if (routes.length === 1) return only as RouteView;
  const affinities = routes.map(({ hash, weight }) => affinity(key, hash, weight));
  const favourite = affinities.indexOf(Math.max(...affinities));
  const drawn = Math.floor(random() * (routes.length - 1));
  const route = routes[favourite] as RouteView;
  const other = routes[drawn < favourite ? drawn : drawn + 1] as RouteView;
  return hasMuchMoreLoad(route, other) ? other : route;
}

/** Load is the calls in flight, in proportion to the weight, times the milliseconds to the first content. */
function hasMuchMoreLoad(route: RouteView, other: RouteView): boolean {
  const meanWeight = (route.weight + other.weight) / 2;
  const calls = ({ inFlight, weight }: RouteView): number => 1 + (inFlight * meanWeight) / weight;
  const latencyMs = (one: RouteView, another: RouteView): number =>
    Math.max(one.latencyMs ?? another.latencyMs ?? UNKNOWN_LATENCY_MS, one.waitingMs);
  return calls(route) * latencyMs(route, other) > LOAD_RATIO_MAX * calls(other) * latencyMs(other, route);
}
