import { IsIn, IsInt, IsString, Max, Min, MinLength } from 'class-validator';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '#config/service-config.js';

/** Settings of the process. Those of its services are read by each service. */
export class TollgateConfig {
  /** Port of `/livez`, `/readyz` and `/metrics` of all services. 0 takes a free port. */
  @IsInt() @Min(0) @Max(65535) opsPort = 9090;
  @IsString() @MinLength(1) opsHost = '127.0.0.1';
  @IsIn(LOG_LEVELS) logLevel: LogLevel = 'info';
  @IsIn(LOG_FORMATS) logFormat: LogFormat = 'json';
}
