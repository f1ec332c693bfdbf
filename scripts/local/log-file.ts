import { closeSync, copyFileSync, fstatSync, mkdirSync, openSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';

const BYTES_MAX = 10 * 1024 * 1024;
const CHECK_EVERY_MS = 2000;

/**
 * A log that a child process writes to directly, so that it costs the launcher nothing and survives it. Above 10 MB its content moves to
 * `<file>.1`, by copy and truncate because the child keeps the file open.
 */
export class LogFile {
  readonly path: string;
  readonly descriptor: number;
  private start: number;
  private readonly timer: NodeJS.Timeout;

  constructor(file: string) {
    mkdirSync(dirname(file), { recursive: true });
    this.path = file;
    this.descriptor = openSync(file, 'a', 0o600);
    this.start = fstatSync(this.descriptor).size;
    this.timer = setInterval(() => this.rotate(), CHECK_EVERY_MS).unref();
  }

  /** Last error line since this object was created; else the last line. */
  lastError(): string {
    const lines = readFileSync(this.path).subarray(this.start).toString().trim().split('\n').slice(-50).map(readMessage);
    return lines.findLast(({ severe }) => severe)?.text ?? lines.at(-1)?.text ?? '';
  }

  close(): void {
    clearInterval(this.timer);
    closeSync(this.descriptor);
  }

  private rotate(): void {
    if (fstatSync(this.descriptor).size < BYTES_MAX) return;
    copyFileSync(this.path, `${this.path}.1`);
    truncateSync(this.path);
    this.start = 0;
  }
}

function readMessage(line: string): { severe: boolean; text: string } {
  try {
    const { level, msg, err } = JSON.parse(line);
    const text = [msg, err?.message].filter(Boolean).join(': ').replaceAll('\n', '; ');
    return { severe: level === 'fatal' || level === 'error', text };
  } catch {
    return { severe: /\b(FATAL|\[FTL\]|\[ERR\]|Error:)/.test(line), text: line.trim() };
  }
}
