import { IsIn, IsInt, IsString, Max, Min, MinLength, NotEquals, ValidateIf } from 'class-validator';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `pretty` is for people, `json` for programs. */
export const LOG_FORMATS = ['json', 'pretty'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Settings of every service on NATS. */
export class ServiceConfig {
  /** Servers, separated by commas. `tls://` requires TLS. */
  @IsString() @MinLength(1) natsUrl = 'nats://127.0.0.1:4222';
  @IsString() @MinLength(1) natsUser = '';
  @ValidateIf(({ natsSeed, natsSeedFile }: ServiceConfig) => natsSeed === 'none' && natsSeedFile === 'none')
  @NotEquals('none', { message: 'set this, or NATS_SEED, or NATS_SEED_FILE' })
  natsPassword = 'none';
  /** Seed of the user's NKey, in place of a password. */
  @IsString() natsSeed = 'none';
  /** File with the seed. This file and those of TLS are read at every connect. */
  @IsString() natsSeedFile = 'none';
  /** Authorities that may sign the certificate of NATS, in place of the public ones. Requires TLS. */
  @IsString() natsCaFile = 'none';
  /** Client certificate with its chain, and its key. Require TLS. */
  @IsString() natsCertFile = 'none';
  @IsString() natsKeyFile = 'none';
  /** Port of `/livez`, `/readyz` and `/metrics`. 0 takes a free port. */
  @IsInt() @Min(0) @Max(65535) opsPort = 9090;
  @IsString() @MinLength(1) opsHost = '127.0.0.1';
  /** Milliseconds for which streams and calls outlive a lost connection to NATS. 0: they fail at once. */
  @IsInt() @Min(0) @Max(60_000) streamResumeMs = 5_000;
  @IsIn(LOG_LEVELS) logLevel: LogLevel = 'info';
  @IsIn(LOG_FORMATS) logFormat: LogFormat = 'json';
  /** Milliseconds that running work may take after SIGTERM. */
  @IsInt() @Min(0) shutdownGraceMs = 30_000;
}
