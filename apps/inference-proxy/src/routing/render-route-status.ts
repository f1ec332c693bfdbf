import type { RouteFailure, RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import type { ModelRouter } from './model-router.js';
import type { RouteState } from './route-state.js';
import type { LastFailure } from './route-statistics.js';

/** What this replica says of its routes at a moment. */
export function renderRouteStatus(
  replica: string,
  catalogRevision: number | null,
  models: readonly ModelRouter[],
  now: number,
): RouteStatusReply {
  const withoutRoute = models.filter(({ routes }) => routes.length === 0).map(({ id }) => id);
  return {
    replica,
    catalogRevision,
    routes: models.flatMap(({ id, routes }) => routes.map((route) => renderRoute(id, route, now))),
    waiting: models.filter(({ waiting }) => waiting > 0).map(({ id, waiting }) => ({ model: id, requests: waiting })),
    ...(withoutRoute.length > 0 && { withoutRoute }),
  };
}

function renderRoute(model: string, route: RouteState, now: number): RouteStatus {
  const { upstream, client, definition, breaker, inFlight, statistics } = route;
  const { calls, errors, durationMs, firstContentMs, tokensPerSecond, lastFailure } = statistics;
  return {
    model,
    upstream: client.upstream.id,
    upstreamModel: definition.model,
    priority: definition.priority,
    weight: definition.weight,
    breaker: breaker.state,
    restMs: Math.max(0, Math.round(route.restMs(now))),
    isWell: upstream.isWell,
    inFlight,
    concurrencyMax: definition.concurrencyMax ?? null,
    upstreamInFlight: upstream.inFlight,
    upstreamConnectionsMax: client.upstream.connectionsMax,
    calls,
    errors: { ...errors },
    durationMs: durationMs ?? null,
    firstContentMs: firstContentMs ?? null,
    tokensPerSecond: tokensPerSecond ?? null,
    lastFailure: lastFailure === undefined ? null : renderFailure(lastFailure, now),
  };
}

function renderFailure({ at, kind, code, detail, isOperatorsFault }: LastFailure, now: number): RouteFailure {
  return { kind, code, detail, isOperatorsFault, agoMs: Math.max(0, Math.round(now - at)) };
}
