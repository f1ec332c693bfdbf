import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import type { LogFormat } from '#config/service-config.js';
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

/** A sink of lines. `write` may return before they are written; `flushSync` writes them now. */
interface Destination {
  write(lines: string): unknown;
  flushSync(): void;
}

const DELAY_MS = 250;
const LENGTH_MAX = 32_768;

/**
 * Collects log lines for up to 250 ms, and hands them to the destination in one string. pino's own destination would copy all that it holds
 * with every line, and a write for each line costs more than that.
 */
export class LineBuffer implements Destination {
  private lines: string[] = [];
  private length = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly destination: Destination,
    /** Makes the text that is written of a line. */
    private readonly render: (line: string) => string = (line) => line,
  ) {}

  write(line: string): void {
    const text = this.render(line);
    this.lines.push(text);
    this.length += text.length;
    if (this.length >= LENGTH_MAX) this.handOver();
    else this.timer ??= setTimeout(() => this.handOver(), DELAY_MS).unref();
  }

  /** Writes everything now. pino calls it for a fatal line. */
  flushSync(): void {
    this.handOver();
    this.destination.flushSync();
  }

  /** Called by `logger.flush()`. */
  flush(): void {
    this.flushSync();
  }

  private handOver(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.lines.length === 0) return;
    const lines = this.lines.join('');
    this.lines = [];
    this.length = 0;
    this.destination.write(lines);
  }
}
