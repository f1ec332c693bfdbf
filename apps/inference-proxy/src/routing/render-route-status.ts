import type { RouteFailure, RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import type { ModelRouter } from './model-router.js';
import type { RouteState } from './route-state.js';
import type { LastFailure } from './route-statistics.js';

/** Renders what this replica knows about its routes. */
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
  const { upstream, client, definition, inFlight, statistics } = route;
  const { calls, errors, durationMs, firstContentMs, tokensPerSecond, lastFailure } = statistics;
  return {
    model,
    upstream: client.upstream.id,
    upstreamModel: definition.model,
    priority: definition.priority,
    weight: definition.weight,
    breaker: route.circuitState(now),
    restMs: Math.round(route.cooldownMs(now)),
    isWell: upstream.isHealthy,
    inFlight,
    concurrencyMax: definition.concurrencyMax ?? null,
    upstreamInFlight: upstream.calls.inUse,
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
