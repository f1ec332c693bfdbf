import { affinity } from './prompt-prefix.js';

/**
 * What an account can do with a route at a moment: `ready` for a call, `probe` when it has rested and one call may see whether it is
 * well again, `full` when there is no room or the account has used up its share of it, or `down`.
 */
export type Availability = 'ready' | 'probe' | 'full' | 'down';

/** What the choice needs to know of a route. */
export interface Choosable {
  /** Of its name, for affinity. */
  readonly hash: number;
  /** Lower is tried first. */
  readonly priority: number;
  readonly inFlight: number;
  availability(now: number, accountId: string): Availability;
  /** Its share among its equals at the moment; 0: not used. */
  weight(now: number): number;
  /** To the first content, from what came lately; undefined when nothing did. */
  latencyMs(now: number): number | undefined;
  /** To the first content, on the long average; undefined before the first. */
  readonly usualMs: number | undefined;
  /** How long calls have been waiting for their first content, or had been when they were left: it takes at least that long. 0 when none has. */
  waitingMs(now: number): number;
}

export interface ChoiceTerms<Route> {
  now: number;
  /** The account that asks. */
  accountId: string;
  /** Asked only where there is a choice to make. */
  prefixKey: () => number;
  /** In [0, 1). */
  random: () => number;
  /** Not these. */
  tried: ReadonlySet<Route>;
}

/** How much busier than another a preferred route may be before the other is taken. */
const BUSIER_MAX = 2;
/** Before any route has ever answered, a wait below this says nothing. */
const UNKNOWN_MS = 1_000;

/**
 * Among the usable routes of the lowest priority tier that has any: the one the prompt's beginning prefers, unless another one,
 * picked at random, is less than half as busy (the power of two choices). A route that is due a probe goes first, but not
 * for a request that has failed elsewhere. `full`: all that keeps routes from being used is that they are; `down`: there is none.
 */
export function chooseRoute<Route extends Choosable>(routes: readonly Route[], terms: ChoiceTerms<Route>): Route | 'full' | 'down' {
  const only = routes[0];
  if (routes.length === 1 && only !== undefined && terms.tried.size === 0) {
    const availability = only.availability(terms.now, terms.accountId);
    return availability === 'full' || availability === 'down' ? availability : only;
  }
  const { ready, probes, someAreFull } = lowestTier(routes, terms);
  const [probe] = probes;
  if (probe !== undefined && (ready.length === 0 || terms.tried.size === 0)) return probe;
  const [first, second] = ready;
  if (first === undefined) return someAreFull ? 'full' : 'down';
  return second === undefined ? first : better(ready, terms);
}

/** What the last resort needs to know of a route besides. */
export interface Resting extends Choosable {
  readonly isFull: boolean;
  /** Until it may be called for want of another route; not above 0 when it may. */
  lastResortMs(now: number): number;
}

/**
 * Where all rest: the one of them that may be called first. Undefined when there is none with room. Tiers do not count any
 * more, they are all down.
 */
export function lastResort<Route extends Resting>(
  routes: readonly Route[],
  { now, tried }: Pick<ChoiceTerms<Route>, 'now' | 'tried'>,
): Route | undefined {
  let first: Route | undefined;
  for (const route of routes) {
    if (tried.has(route) || route.isFull || route.weight(now) <= 0) continue;
    if (first === undefined || route.lastResortMs(now) < first.lastResortMs(now)) first = route;
  }
  return first;
}

interface Tier<Route> {
  ready: Route[];
  probes: Route[];
  someAreFull: boolean;
}

function lowestTier<Route extends Choosable>(routes: readonly Route[], { now, accountId, tried }: ChoiceTerms<Route>): Tier<Route> {
  const tier: Tier<Route> = { ready: [], probes: [], someAreFull: false };
  let priority = Number.POSITIVE_INFINITY;
  for (const route of routes) {
    if (route.priority > priority || tried.has(route) || route.weight(now) <= 0) continue;
    const availability = route.availability(now, accountId);
    if (availability === 'full') tier.someAreFull = true;
    if (availability === 'full' || availability === 'down') continue;
    if (route.priority < priority) {
      priority = route.priority;
      tier.ready = [];
      tier.probes = [];
    }
    (availability === 'ready' ? tier.ready : tier.probes).push(route);
  }
  return tier;
}

function better<Route extends Choosable>(routes: readonly Route[], { now, prefixKey, random }: ChoiceTerms<Route>): Route {
  const preferred = mostLiked(routes, prefixKey(), now);
  const at = Math.floor(random() * (routes.length - 1));
  const other = routes[at < routes.indexOf(preferred) ? at : at + 1] ?? preferred;
  return isMuchBusier(preferred, other, now) ? other : preferred;
}

function mostLiked<Route extends Choosable>(routes: readonly Route[], key: number, now: number): Route {
  return routes.reduce(
    (best, route) => {
      const liking = affinity(key, route.hash, route.weight(now));
      return liking > best.liking ? { route, liking } : best;
    },
    { route: routes[0] as Route, liking: -1 },
  ).route;
}

/** Busy is what waits for an answer: the calls under way, in proportion to the weight, times how long one takes. */
function isMuchBusier(route: Choosable, other: Choosable, now: number): boolean {
  const [weight, otherWeight] = [route.weight(now), other.weight(now)];
  const mean = (weight + otherWeight) / 2;
  const load = 1 + (route.inFlight * mean) / weight;
  const otherLoad = 1 + (other.inFlight * mean) / otherWeight;
  const known = route.latencyMs(now);
  const otherKnown = other.latencyMs(now);
  const latencyMs = Math.max(known ?? otherKnown ?? usualMs(route, other), route.waitingMs(now));
  const otherLatencyMs = Math.max(otherKnown ?? known ?? usualMs(route, other), other.waitingMs(now));
  return load * latencyMs > BUSIER_MAX * otherLoad * otherLatencyMs;
}

/** Where nothing came lately: of both the same, so that none is avoided for what it once was, and only waits are measured by it. */
function usualMs(route: Choosable, other: Choosable): number {
  return Math.min(route.usualMs ?? other.usualMs ?? UNKNOWN_MS, other.usualMs ?? Number.POSITIVE_INFINITY);
}
