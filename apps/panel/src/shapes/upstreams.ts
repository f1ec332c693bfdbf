import type { UpstreamCheck, UpstreamProbeEnd } from '#contracts/probe.js';
import type { RouteState } from '#contracts/route-state.js';
import type { RouteStatus, RouteStatusReply } from '#contracts/route-status.js';

export type { RouteState };

/** `GET /upstreams`: routes as each replica of the inference-proxy sees them. */
export interface UpstreamsReply {
  replicas: UpstreamReplica[];
}

type UpstreamReplica = Omit<RouteStatusReply, 'routes'> & { routes: UpstreamRoute[] };

/** `advice` tells what to check on a route that is not up, or whose every call failed. Null: nothing. */
export type UpstreamRoute = RouteStatus & { state: RouteState; advice: string | null };

/** `POST /upstreams/{upstreamId}/test`. Replies server-sent events: one `test-start`, a `check-end` for each check, one `test-end`. */
export interface UpstreamTestBody {
  /** Model name at the upstream. Default: the models of its routes, the first in full. */
  model?: string;
}

export type { UpstreamCheck, UpstreamProbeEnd };
