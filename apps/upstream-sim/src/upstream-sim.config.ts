import { IsBoolean, IsIn, IsInt, IsString, Max, Min, MinLength } from 'class-validator';
import { LOG_LEVELS, type LogLevel } from '#config/service-config.js';

/** The simulator stands outside the system it imitates an upstream for: no NATS, no database. */
export class UpstreamSimConfig {
  @IsString() @MinLength(1) host = '127.0.0.1';
  /** 0 takes a free one. */
  @IsInt() @Min(0) @Max(65535) upstreamSimPort = 9100;
  /** When set, requests need it as their bearer key. */
  @IsString() upstreamSimApiKey = '';
  /** Directives every request starts from, such as `status=503`; the request's own override them. */
  @IsString() upstreamSimDefaults = '';
  /** Keeps the last 100 requests, prompts included, for `GET /sim/requests`. For tests only. */
  @IsBoolean() simRecord = false;
  @IsIn(LOG_LEVELS) logLevel: LogLevel = 'info';
}
