import { IsInt, IsOptional, Min } from 'class-validator';
import { Id, NestedList, Text } from './billing/fields.js';
import { Topic } from './endpoint.js';

/** Milliseconds between two announcements of a replica of the inference-proxy. */
export const PROXY_REPLICA_INTERVAL_MS = 1_000;
/** Routes of one announcement. Its size stays below half of the NATS server's default `max_payload`. */
export const ROUTES_OVER_SHARE_MAX = 500;

/** A route with more calls of a replica than its share of the route's `concurrencyMax`. */
export class RouteOverShare {
  /** Name for clients. */
  @Text(256) model!: string;
  @Text(256) upstream!: string;
  /** Name at the upstream. */
  @Text(256) upstreamModel!: string;
  /** Calls in flight beyond the share. */
  @IsInt() @Min(1) calls!: number;
}

export class ProxyReplicaReady {
  @Id() replicaId!: string;
  /** Absent: none. */
  @IsOptional() @NestedList(() => RouteOverShare, ROUTES_OVER_SHARE_MAX) overShare?: RouteOverShare[];
}

/** Published by every replica of the inference-proxy each second until its last call has ended: they divide the caps of routes. */
export const proxyReplicaReady = new Topic(
  'inference.v1.event.replica-ready',
  ProxyReplicaReady,
  'A replica of the inference-proxy answers',
);
