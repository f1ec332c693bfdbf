import { IsInt, Max, Min } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';

export class InferenceProxyConfig extends ServiceConfig {
  /** How often routes are read again although nothing was announced. */
  @IsInt() @Min(100) catalogRefreshMs = 30_000;
  /** Calls of upstreams for one request, the first included. */
  @IsInt() @Min(1) @Max(10) attemptsMax = 3;
  /** How long an upstream that could not be reached is left alone. */
  @IsInt() @Min(0) routeCooldownMs = 1_000;
  /** How long a gateway has to settle a stream it has left, before the proxy does. */
  @IsInt() @Min(0) settleAfterAbortMs = 3_000;
}
