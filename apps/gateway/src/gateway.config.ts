import { IsInt, IsString, Matches, Max, Min, MinLength } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';
import { CORS_ALLOWED_ORIGINS } from './http/cors.js';

/** Settings of the gateway, each read from the variable of its name in capitals: `peekMs` from `PEEK_MS`. */
export class GatewayConfig extends ServiceConfig {
  @IsInt() @Min(0) @Max(65535) port = 8080;
  @IsString() @MinLength(1) host = '127.0.0.1';
  @IsInt() @Min(1) connectionsMax = 10_000;
  /** Proxies before the gateway that append to `X-Forwarded-For`. With 0 that header is ignored: any client can send it. */
  @IsInt() @Min(0) @Max(100) trustedProxyHops = 0;
  /** Origins whose scripts may call the gateway from a browser, separated by commas, or `*`. */
  @Matches(CORS_ALLOWED_ORIGINS, { message: 'must be none, * or origins such as https://app.example.com, separated by commas' })
  corsAllowedOrigins = 'none';
  /** Requests of one key to endpoints that cost nothing. An account has four times as many. */
  @IsInt() @Min(1) freeRequestsPerSecond = 100;
  /** Requests of one client address without a valid key. Beyond it refusals come a second late. */
  @IsInt() @Min(1) unkeyedRequestsPerSecond = 10;

  /** Spec 8: 8 MB is 8 × 1024². */
  @IsInt() @Min(1024) bodyBytesMax = 8 * 1024 * 1024;
  /** All bodies in flight; beyond it 503. One account may hold a quarter, beyond it 429; the last eighth is for bodies of at most 64 KiB. */
  @IsInt() @Min(1024) bodiesInFlightBytesMax = 256 * 1024 * 1024;
  /** Least average rate of a body, counted after the grace; slower ones are cut off with 408. */
  @IsInt() @Min(0) bodyBytesPerSecondMin = 8 * 1024;
  @IsInt() @Min(0) bodyGraceMs = 5_000;
  /** Threads that parse large bodies. */
  @IsInt() @Min(1) @Max(64) bodyWorkers = 2;
  /** The most memory for the objects of one of them, in MiB. The worst body of 8 MiB needs less than 64. */
  @IsInt() @Min(32) bodyWorkerHeapMb = 96;

  /** How long a stream waits for its first content before its head is sent without it. Common proxies want a first byte within 30 s. */
  @IsInt() @Min(1) peekMs = 15_000;
  /** Silence after which a stream gets a sign of life (C-33). */
  @IsInt() @Min(1) keepAliveMs = 15_000;
  /** A client that takes nothing for this long is treated as gone (billing.md 7, "SSE"). */
  @IsInt() @Min(1) drainMs = 30_000;

  /** How long a resolved or refused key is believed; a revocation is pushed and takes effect at once. */
  @IsInt() @Min(0) keyCacheMs = 5_000;
  @IsInt() @Min(1) keyCacheEntriesMax = 20_000;
  @IsInt() @Min(100) catalogRefreshMs = 30_000;

  /** One attempt to reserve or settle. A reserve is tried twice. */
  @IsInt() @Min(10) billingTimeoutMs = 2_000;
  /** How long a finished reply waits for its settlement to be safe; after that it is settled behind the client's back. */
  @IsInt() @Min(0) settleAnswerMs = 2_000;
  /** With so many settlements open nothing more is reserved: billing is not keeping up, and each of them is asked for again and again. */
  @IsInt() @Min(1) settlementsPendingMax = 10_000;
  /** How long the settlements still open at shutdown may take. */
  @IsInt() @Min(0) settleFlushMs = 10_000;
}
