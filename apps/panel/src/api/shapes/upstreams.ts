import type { RouteFailure, RouteStatus, RouteStatusReply } from '#contracts/route-status.js';

export type { RouteFailure, RouteStatus, RouteStatusReply };

/** `GET /upstreams`: routes as each replica of the inference-proxy sees them. */
export interface UpstreamsReply {
  replicas: RouteStatusReply[];
}
