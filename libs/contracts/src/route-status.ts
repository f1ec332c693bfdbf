import { EmptyRequest } from './catalog.js';
import { EveryReplicaEndpoint } from './endpoint.js';

/** A route as one replica of the proxy sees it. Averages are of the last calls, counts since the replica's start. */
export interface RouteStatus {
  /** As clients call it. */
  model: string;
  upstream: string;
  /** As the upstream calls it. */
  upstreamModel: string;
  priority: number;
  weight: number;
  /** `closed`: it is called; `half-open`: one call sees whether it is well again; `open`: it rests, or has rested (`restMs` is 0). */
  breaker: 'closed' | 'half-open' | 'open';
  /** Until the next call may be made; 0 when it may be made now: the probe, where the breaker is not closed. */
  restMs: number;
  /** False while the upstream's health check fails. */
  isWell: boolean;
  inFlight: number;
  concurrencyMax: number | null;
  /** Of all routes to the upstream. */
  upstreamInFlight: number;
  upstreamConnectionsMax: number;
  calls: number;
  /** By kind. */
  errors: Record<string, number>;
  /** Of a whole call. Here and below: null until there was one. */
  durationMs: number | null;
  /** Of streams. */
  firstContentMs: number | null;
  tokensPerSecond: number | null;
  /** The last one, however long ago. */
  lastFailure: RouteFailure | null;
}

export interface RouteFailure {
  /** As in `errors`: unreachable, stale, unanswered, refused, denied, rejected, timeout, broken, empty, limit. */
  kind: string;
  /** What the client would have got. */
  code: string;
  /** What happened, in few words; of the upstream's own only what is no secret. */
  detail: string;
  /** For all that can be told it is the operator's to mend. */
  isOperatorsFault: boolean;
  agoMs: number;
}

export interface RouteStatusReply {
  /** Host and process. */
  replica: string;
  /** Of the catalog that its routes are from; null before it has read one. */
  catalogRevision: number | null;
  routes: RouteStatus[];
  /** Requests that wait because all routes of their model are full. */
  waiting: { model: string; requests: number }[];
  /** Models without any route, as long as the upstreams that theirs lead to are disabled; left out when there are none. */
  withoutRoute?: string[];
}

/** Each replica of the inference-proxy answers for itself: capacity, breakers and lines are each replica's own. */
export const routeStatus = new EveryReplicaEndpoint<EmptyRequest, RouteStatusReply>(
  'inference.v1.route.status',
  EmptyRequest,
  'How the routes of a replica of the inference-proxy are doing',
);
