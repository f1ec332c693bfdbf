import { EmptyRequest, type Upstream } from './catalog.js';
import { EveryReplicaEndpoint } from './endpoint.js';

/** A route as one replica of the proxy sees it. Averages are of the last calls, counts since the start of the replica. */
export interface RouteStatus {
  /** Name for clients. */
  model: string;
  upstream: string;
  /** Name at the upstream. */
  upstreamModel: string;
  priority: number;
  weight: number;
  /** `closed`: called. `half-open`: a probe is due or under way. `open`: not called, by the circuit, `Retry-After` or the health check. */
  circuit: 'closed' | 'half-open' | 'open';
  /** Milliseconds until the next call or probe; 0 when it may be made now. */
  cooldownMs: number;
  /** False while the upstream's health check fails. */
  isHealthy: boolean;
  /**
   * Kind of `auth` of the upstream. `isUsable`: false while there is no token, so that other routes are called. Absent: it has a fixed key, or
   * none.
   */
  auth?: { kind: string; isUsable: boolean };
  inFlight: number;
  /** Calls that this replica may have: its share of the route's `concurrencyMax`. Null: no limit. */
  concurrencyMax: number | null;
  /** Calls under way on all routes to the upstream. */
  upstreamInFlight: number;
  upstreamConnectionsMax: number;
  calls: number;
  /** Number of errors by kind. */
  errors: Record<string, number>;
  /** Milliseconds of a whole call. This and the following are null before the first call. */
  durationMs: number | null;
  /** Milliseconds to the first content of a stream. */
  firstContentMs: number | null;
  tokensPerSecond: number | null;
  /** Tokens of all calls. */
  tokens?: { prompt: number; output: number };
  /** The last failure, however old. */
  lastFailure: RouteFailure | null;
}

export interface RouteFailure {
  /** Kind, as in `errors`: unreachable, stale, unanswered, refused, denied, credential, rejected, timeout, broken, empty, limit. */
  kind: string;
  /** Code of the error that the client would get. */
  code: string;
  /** Short description, without secrets of the upstream. */
  detail: string;
  /** True when the operator probably has to fix it. */
  isOperatorsFault: boolean;
  agoMs: number;
}

/** An upstream of the catalog as one replica of the proxy calls it. */
export interface UpstreamStatus {
  upstream: string;
  kind: Upstream['kind'];
  baseUrl: string;
  /** `none`: it is called without a key, token or secret header. `missing`: its calls fail. */
  key: 'none' | 'usable' | 'missing';
  /** Reason why a key is missing, without the key. Null: none is, or its last failure says it. */
  keyFault: string | null;
  /** Path of its health check. Null: none. */
  healthCheckPath: string | null;
}

export interface RouteStatusReply {
  replica: string;
  /** Revision of the catalog that the routes come from; null before the first. */
  catalogRevision: number | null;
  routes: RouteStatus[];
  /** Requests that wait because all routes of their model are full. */
  waiting: { model: string; requests: number }[];
  /** Models without a route because their upstreams are disabled. Absent: none. */
  withoutRoute?: string[];
  /** Enabled upstreams of the catalog. Absent: the replica is of an earlier version. */
  upstreams?: UpstreamStatus[];
}

/** Every replica of the inference-proxy answers: circuits and queues are its own. */
export const routeStatus = new EveryReplicaEndpoint<EmptyRequest, RouteStatusReply>('inference.v1.route.status', EmptyRequest, {
  about: 'Status of the routes of a replica of the inference-proxy',
});
