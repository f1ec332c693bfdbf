import { IsInt, Max, Min } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';

export class InferenceProxyConfig extends ServiceConfig {
  /** How often routes are read again although nothing was announced. */
  @IsInt() @Min(100) catalogRefreshMs = 30_000;
  /** Calls of upstreams for one request, the first included; one on an idle connection that turns out to be closed is not counted, once. */
  @IsInt() @Min(1) @Max(10) attemptsMax = 3;
  /** After so long no further call is begun for a request: a little more than an upstream's first byte may take by default. */
  @IsInt() @Min(0) failoverMs = 130_000;
  /** Milliseconds from the failure that opens a route's circuit to the call that probes it. */
  @IsInt() @Min(1) routeCooldownMs = 3_000;
  /** Milliseconds after which a stream that its client cancels before any content counts as a timeout. */
  @IsInt() @Min(1) slowStartMs = 10_000;
  /** Longest `Retry-After` of an upstream that is honoured. */
  @IsInt() @Min(0) retryAfterMaxMs = 60_000;
  /** Retries of a model's requests, in percent of the requests, and how many at once. */
  @IsInt() @Min(0) @Max(1_000) retryPercent = 20;
  @IsInt() @Min(0) retryBurst = 1_000;
  /** Requests of a model that may wait while all of its routes are full, and how long. */
  @IsInt() @Min(0) queueMax = 100;
  @IsInt() @Min(0) queueWaitMs = 2_000;
  /** Requests above 64 KiB in progress, in bytes; each takes up to three times as much memory. At least two of the largest must fit. */
  @IsInt() @Min(16 * 1024 * 1024) largeRequestBytesMax = 128 * 1024 * 1024;
  /** How long a gateway has to settle a stream it has left, before the proxy does. */
  @IsInt() @Min(0) settleAfterAbortMs = 3_000;
}
