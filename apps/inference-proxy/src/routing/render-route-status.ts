import type { RouteFailure, RouteStatus, UpstreamStatus } from '#contracts/route-status.js';
import { sendsSecrets, whyNoKey } from '../transport/api-key.js';
import type { RouteState } from './route-state.js';
import type { LastFailure } from './route-statistics.js';
import type { UpstreamState } from './upstream-state.js';

/** Renders what this replica knows about a route of a model. */
export function renderRouteStatus(model: string, route: RouteState, now: number): RouteStatus {
  const { upstream, client, definition, inFlight, concurrencyMax, statistics } = route;
  const { calls, errors, durationMs, firstContentMs, tokensPerSecond, tokens, lastFailure } = statistics;
  return {
    model,
    upstream: client.upstream.id,
    upstreamModel: definition.model,
    priority: definition.priority,
    weight: definition.weight,
    circuit: route.circuitState(now),
    cooldownMs: Math.round(route.cooldownMs(now)),
    isHealthy: upstream.isHealthy,
    ...(client.upstream.auth != null && { auth: { kind: client.upstream.auth.kind, isUsable: upstream.isAuthorized } }),
    inFlight,
    concurrencyMax,
    upstreamInFlight: upstream.calls.inUse,
    upstreamConnectionsMax: client.upstream.connectionsMax,
    calls,
    errors: { ...errors },
    durationMs: durationMs ?? null,
    firstContentMs: firstContentMs ?? null,
    tokensPerSecond: tokensPerSecond ?? null,
    tokens: { ...tokens },
    lastFailure: lastFailure === undefined ? null : renderFailure(lastFailure, now),
  };
}

/** Renders where an upstream is and whether this replica has its key. Reads the files of secrets: not for the path of a call. */
export function renderUpstreamStatus({ client: { upstream }, isAuthorized }: UpstreamState): UpstreamStatus {
  const { id, kind, baseUrl, healthCheck } = upstream;
  const keyFault = whyNoKey(upstream) ?? null;
  const isMissing = keyFault !== null || !isAuthorized;
  const key = isMissing ? 'missing' : sendsSecrets(upstream) ? 'usable' : 'none';
  return { upstream: id, kind, baseUrl, key, keyFault, healthCheckPath: healthCheck?.path ?? null };
}

function renderFailure({ at, kind, code, detail, isOperatorsFault }: LastFailure, now: number): RouteFailure {
  return { kind, code, detail, isOperatorsFault, agoMs: Math.max(0, Math.round(now - at)) };
}
