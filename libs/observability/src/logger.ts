import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import type { LogFormat } from '#config/service-config.js';
import { LineBuffer } from './line-buffer.js';
import { prettyLine } from './pretty-line.js';

export type { Logger } from 'pino';

/**
 * Writes one line an event to standard output, up to 250 ms late: call `flush` before the process exits. Callers pass named fields,
 * never whole requests, so that no prompt, key or cookie gets into a log.
 */
export function createLogger(service: string, level: string, format: LogFormat = 'json'): Logger {
  const destination = new LineBuffer(pino.destination({ dest: 1, sync: false }), format === 'pretty' ? prettyLine : undefined);
  return pino(lineOptions(service, level), destination);
}

/** Returns a logger for another service of the process. It writes to the same buffer. */
export function siblingLogger(logger: Logger, service: string, level: string): Logger {
  return pino(lineOptions(service, level), (logger as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym]);
}

function lineOptions(service: string, level: string): LoggerOptions {
  return { level, base: { service }, timestamp: isoTime, formatters: { level: (label) => ({ level: label }) } };
}

let second = Number.NaN;
let secondText = '';

/** Returns the time of a line as pino wants it. The text of a second is made once: a `Date` costs an eighth of the line. */
export function isoTime(): string {
  const now = Date.now();
  const milliseconds = now % 1_000;
  if (now - milliseconds !== second) {
    second = now - milliseconds;
    secondText = new Date(second).toISOString().slice(0, -'000Z'.length);
  }
  return `,"time":"${secondText}${String(milliseconds).padStart(3, '0')}Z"`;
}

/** Sends Nest's log lines to the service's logger. Its start-up lines become `debug`. */
export class FrameworkLogger implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, context?: string): void {
    this.logger.debug({ context }, String(message));
  }

  warn(message: unknown, context?: string): void {
    this.logger.warn({ context }, String(message));
  }

  error(message: unknown, stack?: string, context?: string): void {
    this.logger.error({ context, stack }, String(message));
  }

  debug(message: unknown, context?: string): void {
    this.logger.debug({ context }, String(message));
  }
}
