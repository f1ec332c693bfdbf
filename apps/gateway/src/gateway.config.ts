import { IsBoolean, IsIn, IsInt, IsString, Matches, Max, Min, MinLength } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';
import { CORS_ALLOWED_ORIGINS } from './http/cors.js';
import { MODEL_FACTS } from './http/endpoints/render-models.js';

/** Settings of the gateway. Each is read from the environment variable of its name: `peekMs` from `PEEK_MS`. */
export class GatewayConfig extends ServiceConfig {
  @IsInt() @Min(0) @Max(65535) port = 8080;
  @IsString() @MinLength(1) host = '127.0.0.1';
  @IsInt() @Min(1) connectionsMax = 10_000;
  /** Trusted proxies in front of the gateway that append to `X-Forwarded-For`. 0 ignores the header, because any client can send it. */
  @IsInt() @Min(0) @Max(100) trustedProxyHops = 0;
  /** Certificates that the proxy in front and NATS present, separated by commas. They are read for the metric of their expiry alone. */
  @IsString() servedCertificateFiles = 'none';
  /** Origins whose scripts may call the gateway from a browser: `none`, `*`, or a list separated by commas. */
  @Matches(CORS_ALLOWED_ORIGINS, { message: 'must be none, * or origins such as https://app.example.com, separated by commas' })
  corsAllowedOrigins = 'none';
  /** Rate of one key at free endpoints. An account has four times this rate. */
  @IsInt() @Min(1) freeRequestsPerSecond = 100;
  /** Rate of requests without a valid key from one client address. Beyond it, refusals are delayed by one second. */
  @IsInt() @Min(1) unkeyedRequestsPerSecond = 10;

  @IsInt() @Min(1024) bodyBytesMax = 8 * 1024 * 1024;
  /** Total of all bodies in flight; beyond it 503. An account may use a quarter (then 429); the last eighth is for bodies up to 64 KiB. */
  @IsInt() @Min(1024) bodiesInFlightBytesMax = 256 * 1024 * 1024;
  /** Minimum average rate of a body after `bodyGraceMs`. Slower bodies are refused with 408. */
  @IsInt() @Min(0) bodyBytesPerSecondMin = 8 * 1024;
  @IsInt() @Min(0) bodyGraceMs = 5_000;
  /** Threads that parse large bodies. */
  @IsInt() @Min(1) @Max(64) bodyWorkers = 2;
  /** Heap limit of one worker thread in MiB. The worst body of 8 MiB needs less than 64. */
  @IsInt() @Min(32) bodyWorkerHeapMb = 96;

  /** Milliseconds a stream waits for its first content before its head is sent. Common proxies expect a first byte within 30 s. */
  @IsInt() @Min(1) peekMs = 15_000;
  /** Milliseconds of silence after which a stream sends a keep-alive. */
  @IsInt() @Min(1) keepAliveMs = 15_000;
  /** A client that reads nothing for this long is treated as disconnected. */
  @IsInt() @Min(1) drainMs = 30_000;

  /** Milliseconds for which the answer about a key is used: the most until a change is in force whose announcement was lost. */
  @IsInt() @Min(0) keyCacheMs = 1_000;
  @IsInt() @Min(1) keyCacheEntriesMax = 20_000;
  @IsInt() @Min(100) catalogRefreshMs = 30_000;

  /** Timeout of one attempt to reserve or settle. A reserve is tried twice. */
  @IsInt() @Min(10) billingTimeoutMs = 2_000;
  /** Milliseconds a finished reply waits for its settlement; after that the settlement continues in the background. */
  @IsInt() @Min(0) settleAnswerMs = 2_000;
  /** Open settlements at which new requests are refused: billing does not keep up, and every open settlement is retried. */
  @IsInt() @Min(1) settlementsPendingMax = 10_000;
  /** Milliseconds that open settlements may take at a shutdown. */
  @IsInt() @Min(0) settleFlushMs = 10_000;

  /** Where the facts of models (context, limits, prices) are: nowhere, at the single model, or in the list too. */
  @IsIn(MODEL_FACTS) modelFacts: (typeof MODEL_FACTS)[number] = 'model';

  /** Publishes the course of each request to a model, which the panel records. */
  @IsBoolean() activityEvents = false;
}
