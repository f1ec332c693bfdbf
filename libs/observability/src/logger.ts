import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/**
 * One JSON line an event on standard output. Callers pass named fields, never whole requests: prompts, keys and
 * cookies have no field to go to (billing.md 7, "Logs").
 */
export function createLogger(service: string, level: string): Logger {
  // Lines are written together, a quarter of a second late at most, and what is left is flushed at exit: one write a line
  // was a tenth of the gateway's time.
  const destination = pino.destination({ dest: 1, sync: false, minLength: 32_768, maxWrite: 65_536, periodicFlush: 250 });
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ level, base: { service }, timestamp: pino.stdTimeFunctions.isoTime, formatters }, destination);
}

/** Lets the framework write through the service's own logger; its chatter at start goes to `debug`. */
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
