import { failedEveryCall, isProbeDue, routeAdvice, routeState } from '#contracts/route-state.js';
import type { RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import { renderTable } from '../render.js';

/** The state of a route on one replica. */
interface ReplicaRoute extends RouteStatus {
  replica: string;
}

/**
 * Renders a line for each route, merged over all replicas, in order of priority; then advice for routes that are not up, and waiting
 * requests. `perReplica`: a line for each route and replica.
 */
export function renderStatus(replies: readonly RouteStatusReply[], perReplica: boolean): string {
  const seen = replies.flatMap(({ replica, routes }) => routes.map((route) => ({ replica, ...route })));
  seen.sort(
    (one, other) => one.model.localeCompare(other.model) || one.priority - other.priority || one.upstream.localeCompare(other.upstream),
  );
  const routes = [...Map.groupBy(seen, ({ model, upstream, upstreamModel }) => `${model}\n${upstream}\n${upstreamModel}`).values()];
  const lines = [...troubles(routes, replies), ...waiting(replies), catalogLine(replies)];
  return [perReplica ? renderRows(seen.map((route) => [route])) : renderRows(routes), '', ...lines].join('\n');
}

function renderRows(rows: readonly (readonly ReplicaRoute[])[]): string {
  return renderTable(
    rows.map((seen) => ({ ...(seen[0] as ReplicaRoute), seen })),
    'no routes',
    {
      MODEL: ({ model }) => model,
      UPSTREAM: ({ upstream }) => upstream,
      ...(rows.flat().some(({ auth }) => auth !== undefined) && { AUTH: ({ auth }: ReplicaRoute) => auth?.kind ?? null }),
      'MODEL THERE': ({ upstreamModel }) => upstreamModel,
      REPLICA: ({ replica, seen }) => (seen.length === 1 ? replica : `all ${seen.length}`),
      STATE: ({ seen }) => renderStates(seen),
      'IN FLIGHT': ({ seen, concurrencyMax }) => {
        const cap = concurrencyMax === null ? '' : `/${sum(seen, (route) => route.concurrencyMax ?? 0)}`;
        return `${sum(seen, ({ inFlight }) => inFlight)}${cap}`;
      },
      SOCKETS: ({ seen }) => `${sum(seen, (route) => route.upstreamInFlight)}/${sum(seen, (route) => route.upstreamConnectionsMax)}`,
      PRIORITY: ({ priority }) => priority,
      WEIGHT: ({ weight }) => weight,
      CALLS: ({ seen }) => sum(seen, ({ calls }) => calls),
      ERRORS: ({ seen }) => renderErrors(seen),
      'FIRST CONTENT': ({ seen }) => renderMs(mean(seen, ({ firstContentMs }) => firstContentMs)),
      'WHOLE CALL': ({ seen }) => renderMs(mean(seen, ({ durationMs }) => durationMs)),
      'TOKENS/S': ({ seen }) => round(mean(seen, ({ tokensPerSecond }) => tokensPerSecond)),
    },
  );
}

/** The common state, or the number of replicas in each state. One that is down has the time until its next probe. */
export function renderStates(seen: readonly RouteStatus[]): string {
  const states = [...Map.groupBy(seen, routeState)].map(([state, those]) => {
    const longest = Math.max(...those.map(({ cooldownMs }) => cooldownMs));
    return { state, count: those.length, text: state === 'down' && longest > 0 ? `down ${renderMs(longest)}` : state };
  });
  if (states.length === 1) return states[0]?.text ?? '';
  return states.map(({ count, text }) => `${count} ${text}`).join(', ');
}

/**
 * Explains each route that is not up on every replica, or on which every call failed, with advice; then each model without a usable
 * route.
 */
function troubles(routes: readonly (readonly ReplicaRoute[])[], replies: readonly RouteStatusReply[]): string[] {
  const lines = routes.flatMap((seen) => {
    for (const [trouble, hasIt] of TROUBLES) {
      const troubled = latestFirst(seen.filter(hasIt));
      if (troubled[0] !== undefined) return [renderTrouble(troubled[0], trouble, troubled.length, seen.length)];
    }
    return [];
  });
  const models = Map.groupBy(routes.flat(), ({ model }) => model);
  for (const [model, seen] of models) if (seen.every(isDown)) lines.push(`${model}: no route is up on any replica; clients get 503 or 429`);
  for (const model of new Set(replies.flatMap(({ withoutRoute }) => withoutRoute ?? [])))
    lines.push(`${model}: all its routes lead to disabled upstreams; clients get 503`);
  return lines.length === 0 ? [] : [...lines, ''];
}

/** Worst first. */
const TROUBLES: readonly [trouble: string, hasIt: (route: ReplicaRoute) => boolean][] = [
  ['is not up', isDown],
  ['is probed by the next request', isProbeDue],
  ['failed every call', failedEveryCall],
];

/** A route that is probed by a request under way is reported as not up; one that waits for its probe is not. */
function isDown(route: ReplicaRoute): boolean {
  return routeState(route) !== 'up' && !isProbeDue(route);
}

function latestFirst(seen: readonly ReplicaRoute[]): ReplicaRoute[] {
  return seen.toSorted((one, other) => (one.lastFailure?.agoMs ?? Infinity) - (other.lastFailure?.agoMs ?? Infinity));
}

function renderTrouble(route: ReplicaRoute, trouble: string, troubled: number, replicas: number): string {
  const { model, upstream, lastFailure } = route;
  const where = replicas === 1 ? '' : ` on ${troubled} of ${replicas} replicas`;
  const what = lastFailure === null ? '' : `: ${lastFailure.detail} (${lastFailure.kind}, ${renderMs(lastFailure.agoMs)} ago)`;
  return `${model} on ${upstream} ${trouble}${where}${what}\n  ${routeAdvice(route)} To test it: tollgate upstreams test ${upstream}`;
}

function waiting(replies: readonly RouteStatusReply[]): string[] {
  return replies.flatMap(({ replica, waiting: models }) =>
    models.map(({ model, requests }) => `${requests} requests wait for ${model} on ${replica}: its routes are full or down`),
  );
}

function catalogLine(replies: readonly RouteStatusReply[]): string {
  const revisions = new Set(replies.map(({ catalogRevision }) => catalogRevision));
  const count = `${replies.length} ${replies.length === 1 ? 'replica' : 'replicas'}`;
  return `${count}, catalog revision ${[...revisions].map((revision) => revision ?? 'none').join(' and ')}`;
}

function renderErrors(seen: readonly ReplicaRoute[]): string | null {
  const counts = new Map<string, number>();
  for (const { errors } of seen) for (const [kind, count] of Object.entries(errors)) counts.set(kind, (counts.get(kind) ?? 0) + count);
  const kinds = [...counts].sort(([, one], [, other]) => other - one);
  return kinds.length === 0 ? null : kinds.map(([kind, count]) => `${count} ${kind}`).join(', ');
}

export function sum<Route>(seen: readonly Route[], read: (route: Route) => number): number {
  return seen.reduce((total, route) => total + read(route), 0);
}

/** Weighted by the calls of each replica. */
export function mean<Route extends Pick<RouteStatus, 'calls'>>(
  seen: readonly Route[],
  read: (route: Route) => number | null,
): number | null {
  const known = seen.filter((route) => read(route) !== null);
  const weight = sum(known, ({ calls }) => Math.max(1, calls));
  return weight === 0 ? null : sum(known, (route) => (read(route) ?? 0) * Math.max(1, route.calls)) / weight;
}

function round(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}

export function renderMs(ms: number | null): string | null {
  if (ms === null) return null;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
