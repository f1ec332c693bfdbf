import type { UpstreamCheck, UpstreamProbeEnd, UpstreamProbeStart } from '#contracts/probe.js';
import type { RouteFailure, RouteStatus, RouteStatusReply } from '#contracts/route-status.js';

export type { RouteFailure, RouteStatus, RouteStatusReply };

/** `GET /upstreams`: routes as each replica of the inference-proxy sees them. */
export interface UpstreamsReply {
  replicas: RouteStatusReply[];
}

/** `POST /upstreams/{upstreamId}/test`. Replies server-sent events: one `test-start`, a `check-end` for each check, one `test-end`. */
export interface UpstreamTestBody {
  /** Model name at the upstream. Default: the models of its routes, the first in full. */
  model?: string;
}

export type { UpstreamCheck, UpstreamProbeEnd, UpstreamProbeStart };
