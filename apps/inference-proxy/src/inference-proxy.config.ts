import { IsInt, IsString, Max, Min } from 'class-validator';
import { ForwardProxyConfig, IsProxyList } from '#network/forward-proxy/forward-proxy.config.js';

export class InferenceProxyConfig extends ForwardProxyConfig {
  /** Forward proxies that an upstream in the catalog may name, separated by commas, or `none`. May hold credentials. */
  @IsProxyList() forwardProxies = 'none';
  /** Milliseconds between reads of the routes without an announced change. */
  @IsInt() @Min(100) catalogRefreshMs = 30_000;
  /** Upstream calls for one request, the first included. The first call that fails on a stale connection is not counted. */
  @IsInt() @Min(1) @Max(10) attemptsMax = 3;
  /** Milliseconds after which no further call is started for a request. The default is a little above the default of firstByteMs. */
  @IsInt() @Min(0) failoverMs = 130_000;
  /** Milliseconds from the failure that opens a route's circuit to the call that probes it. */
  @IsInt() @Min(1) routeCooldownMs = 3_000;
  /** Milliseconds after which a stream that its client cancels before any content counts as a timeout. */
  @IsInt() @Min(1) slowStartMs = 10_000;
  /** Longest `Retry-After` that is honoured, in milliseconds. */
  @IsInt() @Min(0) retryAfterMaxMs = 60_000;
  /** Retry budget of a model: in percent of its requests, and at once. */
  @IsInt() @Min(0) @Max(1_000) retryPercent = 20;
  @IsInt() @Min(0) retryBurst = 1_000;
  /** Requests of a model that may wait while all of its routes are full, and how long they wait. */
  @IsInt() @Min(0) queueMax = 100;
  @IsInt() @Min(0) queueWaitMs = 2_000;
  /** Bytes of requests above 64 KiB in progress. Each takes up to three times as much memory; at least two of the largest must fit. */
  @IsInt() @Min(16 * 1024 * 1024) largeRequestBytesMax = 128 * 1024 * 1024;
  /** Ids of the upstreams that get the trace context of each call in the header `traceparent`, separated by commas, or `none`. */
  @IsString() tracedUpstreams = 'none';
  /** Milliseconds that a gateway has to settle a stream it has left before the proxy settles it. */
  @IsInt() @Min(0) settleAfterAbortMs = 3_000;
}
