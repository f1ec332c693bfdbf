import { IsBoolean, IsIn, IsInt, IsString, Max, Min, MinLength } from 'class-validator';
import { LOG_LEVELS, type LogLevel } from '#config/service-config.js';

/** The simulator needs neither NATS nor a database. */
export class UpstreamSimConfig {
  @IsString() @MinLength(1) host = '127.0.0.1';
  /** 0 takes a free port. */
  @IsInt() @Min(0) @Max(65535) upstreamSimPort = 9100;
  /** Bearer key that requests must send, if set. */
  @IsString() upstreamSimApiKey = '';
  /** Directives of every request, such as `status=503`; the request's own directives override them. */
  @IsString() upstreamSimDefaults = '';
  /** Keeps the last 100 requests, prompts included, for `GET /sim/requests`. For tests only. */
  @IsBoolean() simRecord = false;
  @IsIn(LOG_LEVELS) logLevel: LogLevel = 'info';
}
