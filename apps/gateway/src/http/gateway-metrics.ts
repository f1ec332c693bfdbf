import type { Registry } from 'prom-client';
import { ERROR_CODES } from '#inference/errors.js';
import { metricsIn } from '#observability/metrics-in.js';
import { histogramWithExemplars } from '#observability/open-metrics.js';
import { ROUTES, type Route } from './routes.js';

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

const RESERVE_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** Logged and counted when the client disconnects before a status is sent. It never goes over the wire. */
export const CLIENT_DISCONNECTED = 499;

/** Every status with its code that a request with a key can end with: the last ones are `invalid_request` under a status of HTTP's own. */
const ENDS: readonly (readonly [status: number, code: string])[] = [
  [200, ''],
  [CLIENT_DISCONNECTED, ''],
  ...Object.entries(ERROR_CODES).map(([code, { status }]) => [status, code] as const),
  ...[404, 405, 408, 415, 426].map((status) => [status, 'invalid_request'] as const),
];

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** Metrics of requests. Label values are bounded: routes, models of the catalog, codes; never ids. */
export function createGatewayMetrics(registry: Registry) {
  const { counter } = metricsIn(registry);
  const metrics = {
    requests: counter('tollgate_gateway_requests_total', 'Requests answered', ['route', 'status', 'code']),
    seconds: histogramWithExemplars(registry, {
      name: 'tollgate_gateway_request_seconds',
      help: 'Seconds from the request line to the last byte of the reply',
      labelNames: ['route', 'stream'],
      buckets: SECONDS,
    }),
    firstContentSeconds: histogramWithExemplars(registry, {
      name: 'tollgate_gateway_first_content_seconds',
      help: 'Seconds from the request line to the first content of the model',
      labelNames: ['stream'],
      buckets: SECONDS,
    }),
    reserveSeconds: histogramWithExemplars(registry, {
      name: 'tollgate_gateway_reserve_seconds',
      help: 'Seconds from the parsed request to its hold: the delay before the upstream is called',
      buckets: RESERVE_SECONDS,
    }),
    policySeconds: histogramWithExemplars(registry, {
      name: 'tollgate_gateway_policy_seconds',
      help: 'Seconds from the question to a policy until the request goes on or is refused',
      labelNames: ['policy'],
      buckets: RESERVE_SECONDS,
    }),
    policyDecisions: counter('tollgate_gateway_policy_decisions_total', 'Requests that a policy was asked about', ['policy', 'outcome']),
    tokens: counter('tollgate_gateway_tokens_total', 'Tokens billed', ['model', 'kind']),
    unbilledTokens: counter(
      'tollgate_gateway_unbilled_tokens_total',
      'Tokens that upstreams counted beyond the hold of a request: the operator pays for them',
      ['model'],
    ),
    activityDropped: counter(
      'tollgate_gateway_activity_dropped_total',
      'Ended requests that were not published, because NATS was away for too long',
    ),
  };
  // Counters start at 0: rate() misses an increment from nothing to 1.
  for (const { path: route, key } of Object.values<Route>(ROUTES))
    for (const [status, code] of key === 'none' ? ENDS.slice(0, 1) : ENDS) metrics.requests.inc({ route, status, code }, 0);
  return metrics;
}

/** Creates the counters of models at 0. */
export function addModels({ tokens, unbilledTokens }: GatewayMetrics, models: readonly string[]): void {
  for (const model of models) {
    for (const kind of ['prompt', 'cached', 'output']) tokens.inc({ model, kind }, 0);
    unbilledTokens.inc({ model }, 0);
  }
}

interface GaugeSources {
  server: { readonly requestsRunning: number; readonly connectionsOpen: number };
  settlements: { readonly pending: number };
  bodies: { readonly bytesInFlight: number };
  bodyWorkers: { readonly waiting: number };
}

/** Registers the metrics whose values are read when Prometheus scrapes. */
export function registerGauges(registry: Registry, { server, settlements, bodies, bodyWorkers }: GaugeSources): void {
  const { scrapedGauge } = metricsIn(registry);
  scrapedGauge('tollgate_gateway_requests_in_flight', 'Requests not yet answered and settled', () => server.requestsRunning);
  scrapedGauge('tollgate_gateway_connections_open', 'Open client connections', () => server.connectionsOpen);
  scrapedGauge('tollgate_gateway_settlements_pending', 'Settlements that billing has not confirmed', () => settlements.pending);
  scrapedGauge('tollgate_gateway_body_bytes_in_flight', 'Bytes of the request bodies in flight', () => bodies.bytesInFlight);
  scrapedGauge('tollgate_gateway_bodies_waiting', 'Large request bodies that wait for a worker thread', () => bodyWorkers.waiting);
}
