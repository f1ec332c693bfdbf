import { IsIn, IsInt, IsString, Max, Min, MinLength } from 'class-validator';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Settings of every service on NATS. */
export class ServiceConfig {
  @IsString() @MinLength(1) natsUrl = 'nats://127.0.0.1:4222';
  @IsString() @MinLength(1) natsUser = '';
  @IsString() @MinLength(1) natsPassword = '';
  /** Port of `/livez`, `/readyz` and `/metrics`. 0 takes a free port. */
  @IsInt() @Min(0) @Max(65535) opsPort = 9090;
  @IsString() @MinLength(1) opsHost = '127.0.0.1';
  /** Milliseconds for which streams and calls outlive a lost connection to NATS. 0: they fail at once. */
  @IsInt() @Min(0) @Max(60_000) streamResumeMs = 5_000;
  @IsIn(LOG_LEVELS) logLevel: LogLevel = 'info';
  /** Milliseconds that running work may take after SIGTERM. */
  @IsInt() @Min(0) shutdownGraceMs = 30_000;
}
