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
