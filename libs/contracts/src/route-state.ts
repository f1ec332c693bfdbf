import type { RouteFailure, RouteStatus } from './route-status.js';

/** `up`: called. `probing`: the next request, or one under way, tries it. `down`: not called: its circuit is open, its health check fails, or there is no credential. */
export type RouteState = 'up' | 'probing' | 'down';

type StateFields = Pick<RouteStatus, 'circuit' | 'cooldownMs' | 'isHealthy' | 'auth'>;

/** The state of a route on a replica, as pages and command line call it. */
export function routeState({ circuit, cooldownMs, isHealthy, auth }: StateFields): RouteState {
  if (!isHealthy || auth?.isUsable === false) return 'down';
  if (circuit === 'closed') return 'up';
  return circuit === 'half-open' || cooldownMs === 0 ? 'probing' : 'down';
}

/** True when the cooldown is over: the next request to this route is the probe, and none may come for a while. */
export function isProbeDue(route: StateFields): boolean {
  return routeState(route) === 'probing' && route.cooldownMs === 0;
}

/** True for a route that is up although every call failed: too few calls, or only rejections, as with a wrong catalog entry. */
export function failedEveryCall({ calls, errors, lastFailure }: RouteStatus): boolean {
  const isClients = lastFailure?.code === 'context_length_exceeded' || lastFailure?.code === 'unsupported_content';
  return calls > 0 && !isClients && Object.values(errors).reduce((total, count) => total + count, 0) === calls;
}

/** Tells the operator what to check on a route that is not up. */
export function routeAdvice({ isHealthy, lastFailure }: Pick<RouteStatus, 'isHealthy' | 'lastFailure'>): string {
  if (!isHealthy) return 'Its health check fails. Check that the upstream is running, and the path of its healthCheck.';
  return lastFailure === null
    ? 'Another route to this upstream failed to connect. Check that the upstream is running.'
    : adviceOn(lastFailure);
}

function adviceOn({ code, kind, isOperatorsFault }: RouteFailure): string {
  if (code === 'model_capacity') return 'The upstream is at capacity. Give the route a concurrencyMax, or the model another route.';
  if (isOperatorsFault && kind === 'refused')
    return 'The upstream has no such model, or its key may not use it. Check the name of the model there, and the rights of the key.';
  if (isOperatorsFault && kind === 'unreachable')
    return 'The upstream cannot be called with its catalog entry. Check baseUrl, tls, allowPrivateNetwork and the certificates.';
  return ADVICE[kind] ?? 'The upstream sent an invalid reply. See its log.';
}

const ADVICE: Readonly<Record<string, string>> = {
  unreachable: 'No connection. Check that the upstream is running, and its baseUrl, tls and allowPrivateNetwork.',
  stale: 'The upstream closes open connections instead of answering. Check whether it, or a proxy before it, restarts.',
  unanswered: 'The upstream closes connections without an answer. See its log, and check https:// and tls in its entry.',
  credential:
    'There is no token or signature for the upstream. Check auth in its entry, its secrets and their hosts, and the token endpoint.',
  denied: 'The upstream refuses the key. Check the key in the inference-proxy, and the credit of its account.',
  refused: 'The upstream answers with errors. See its log.',
  rejected: 'The upstream rejects the requests. It may need other capabilities in its entry.',
  timeout: 'The upstream exceeds its timeouts: it is overloaded or hangs, or they are too short for its prompts.',
  slow: 'A plain reply took longer than totalMs: the upstream is overloaded or hangs, or totalMs is too short for its replies.',
};
