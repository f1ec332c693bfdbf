import { closeSync, copyFileSync, fstatSync, mkdirSync, openSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';

const BYTES_MAX = 10 * 1024 * 1024;
const CHECK_EVERY_MS = 2000;

/**
 * A log a child writes to by itself, so that it costs the launcher nothing and outlives it. It is kept to about 20 MB: past
 * 10 MB its contents move to `<file>.1`. (The child holds the file open for appending, hence copy and truncate.)
 */
export class LogFile {
  constructor(file) {
    mkdirSync(dirname(file), { recursive: true });
    this.path = file;
    this.descriptor = openSync(file, 'a', 0o600);
    this.start = fstatSync(this.descriptor).size;
    this.timer = setInterval(() => this.#rotate(), CHECK_EVERY_MS).unref();
  }

  /** The last complaint written since this object was made, in a line: the message of a JSON record, or the line as it is. */
  lastComplaint() {
    const lines = readFileSync(this.path).subarray(this.start).toString().trim().split('\n').slice(-50).map(messageOf);
    return lines.findLast(({ severe }) => severe)?.text ?? lines.at(-1)?.text ?? '';
  }

  close() {
    clearInterval(this.timer);
    closeSync(this.descriptor);
  }

  #rotate() {
    if (fstatSync(this.descriptor).size < BYTES_MAX) return;
    copyFileSync(this.path, `${this.path}.1`);
    truncateSync(this.path);
    this.start = 0;
  }
}

function messageOf(line) {
  try {
    const { level, msg, err } = JSON.parse(line);
    const text = [msg, err?.message].filter(Boolean).join(': ').replaceAll('\n', '; ');
    return { severe: level === 'fatal' || level === 'error', text };
  } catch {
    return { severe: /\b(FATAL|\[FTL\]|\[ERR\]|Error:)/.test(line), text: line.trim() };
  }
}
