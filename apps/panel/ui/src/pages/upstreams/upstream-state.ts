import type { RouteState, UpstreamReplica, UpstreamsReply } from '../../../../src/shapes/catalog.js';
import { plural } from '../../format/numbers.js';
import type { RouteRow } from './route-list.js';

export type UpstreamFacts = NonNullable<UpstreamReplica['upstreams']>[number];

/** Returns the routes of all replicas that `isChosen` chooses. */
export function collectRoutes({ replicas }: UpstreamsReply, isChosen: (row: RouteRow) => boolean): RouteRow[] {
  return replicas.flatMap(({ replica, routes }) => routes.map((route) => ({ replica, route })).filter(isChosen));
}

/** Returns the upstreams that a replica knows and no route leads to. */
export function listUnrouted({
  routes,
  upstreams = [],
}: Pick<UpstreamReplica, 'upstreams'> & { routes: { upstream: string }[] }): string[] {
  const routed = new Set(routes.map(({ upstream }) => upstream));
  return upstreams.map(({ upstream }) => upstream).filter((upstream) => !routed.has(upstream));
}

/** The worst state of the routes, and on how many of them it is. Undefined: there are none. */
export function worstState(rows: readonly RouteRow[]): { state: RouteState; note: string } | undefined {
  if (rows.length === 0) return undefined;
  const state = (['down', 'probing', 'up'] as const).find((one) => rows.some(({ route }) => route.state === one)) ?? 'up';
  const affected = rows.filter(({ route }) => route.state === state).length;
  if (affected < rows.length) return { state, note: `${affected} of ${plural(rows.length, 'route')}` };
  return { state, note: rows.length === 1 ? 'its one route' : `all ${plural(rows.length, 'route')}` };
}

/** The key of an upstream on all replicas, in words. A replica without it is the one to look at. */
export function describeKey(facts: readonly UpstreamFacts[]): string {
  const missing = facts.filter(({ key }) => key === 'missing');
  if (missing.length === 0) return facts.some(({ key }) => key === 'usable') ? 'usable' : 'none is sent';
  const where = facts.length === 1 ? '' : ` on ${missing.length} of ${plural(facts.length, 'replica')}`;
  const fault = missing.find(({ keyFault }) => keyFault !== null)?.keyFault;
  return `missing${where}${fault ? `: ${fault}` : ''}`;
}
