import { UpstreamFailure } from '../failures/upstream-failure.js';
import { GrowingBuffer } from './growing-buffer.js';
import type { StreamFraming, Take } from './stream-framing.js';

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** Longest line and longest event, in bytes. */
const LINE_BYTES_MAX = 1024 * 1024;

/**
 * Parses server-sent events: bytes in, `data` payloads out. It decodes whole lines only, so that no UTF-8 sequence is cut in two.
 *
 * Servers also send errors outside of events. They become payloads that every dialect recognises: a bare line of JSON becomes a payload,
 * and a line `error: …`, or the data of an event named `error`, becomes `{"error": …}`.
 */
export class SseParser implements StreamFraming {
  /** Beginning of an incomplete line. */
  private readonly carried = new GrowingBuffer();
  /** True while an event has `data` and not yet its blank line. */
  private isOpen = false;
  private dataLength = 0;
  /** Data of the open event from the current block. */
  private data: string | undefined;
  /**
   * Data of the open event from earlier blocks, each with a line end. Kept as bytes: a string concatenated from short lines takes some
   * thirty times its length, and a substring keeps its whole block in memory.
   */
  private readonly earlierData = new GrowingBuffer();
  /** True while the open event is named `error`. */
  private isError = false;
  private atStart = true;
  private skipLineFeed = false;

  constructor(private readonly lineBytesMax = LINE_BYTES_MAX) {}

  get isCut(): boolean {
    return this.carried.length > 0;
  }

  get heldBytes(): number {
    return this.carried.length + this.earlierData.length;
  }

  /**
   * Passes every payload that `bytes` complete to `take`. Throws `UpstreamFailure` when a line or event is too long, after the payloads
   * that preceded it.
   */
  push(bytes: Buffer, take: Take): void {
    let block = bytes;
    if (this.skipLineFeed && block.length > 0) {
      this.skipLineFeed = false;
      if (block[0] === LINE_FEED) block = block.subarray(1);
    }
    const end = lastLineEnd(block) + 1;
    if (end === 0) {
      this.carry(block);
      return;
    }
    const rest = block.subarray(end);
    block = block.subarray(0, end);
    if (this.carried.length > 0) {
      this.carried.push(block);
      block = this.carried.take();
    }
    // A CR at the end of the bytes may be the first half of a CRLF.
    if (block[block.length - 1] === CARRIAGE_RETURN && rest.length === 0) this.skipLineFeed = true;
    const long = block.length > this.lineBytesMax ? findLongLine(block, this.lineBytesMax) : -1;
    this.readLines(this.decode(long === -1 ? block : block.subarray(0, long)), take);
    if (long !== -1) throw tooLong('a line');
    if (this.data !== undefined) this.keepData();
    if (rest.length > 0) this.carry(rest);
  }

  /** Call when the upstream has closed. A last line without its end and a last event without its blank line still count. */
  end(take: Take): void {
    this.readLines(`${this.decode(this.carried.take())}\n\n`, take);
  }

  private carry(bytes: Buffer): void {
    this.carried.push(bytes);
    if (this.carried.length > this.lineBytesMax) throw tooLong('a line');
  }

  private decode(block: Buffer): string {
    let text = block.toString('utf8');
    if (this.atStart && text.length > 0) {
      this.atStart = false;
      if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    }
    return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  }

  /** `text` holds whole lines, each ended by a line feed. */
  private readLines(text: string, take: Take): void {
    let start = 0;
    while (start < text.length) {
      const end = text.indexOf('\n', start);
      if (!this.isOpen && !this.isError && text.charCodeAt(end + 1) === LINE_FEED && text.startsWith('data: {', start)) {
        // Fast path for the common event: one line and a blank one.
        take(text.slice(start + 6, end));
        start = end + 2;
      } else {
        this.readLine(text.slice(start, end), take);
        start = end + 1;
      }
    }
  }

  private readLine(line: string, take: Take): void {
    if (line === '') {
      const { isError } = this;
      this.isError = false;
      if (this.isOpen)
        for (const payload of splitPayloads(this.takeData()))
          take(isError && payload.trim() !== '[DONE]' ? describeError(payload) : payload);
    } else if (line.startsWith('data') && (line.length === 4 || line[4] === ':')) {
      this.addData(fieldValue(line));
    } else if (line.startsWith('event') && (line.length === 5 || line[5] === ':')) {
      this.isError = fieldValue(line).trim() === 'error';
    } else if (line[0] === '{' || line.startsWith('[{')) {
      take(line);
    } else if (line.startsWith('error:')) {
      take(describeError(fieldValue(line)));
    }
  }

  private addData(value: string): void {
    this.dataLength = this.isOpen ? this.dataLength + 1 + value.length : value.length;
    if (this.isOpen && this.dataLength > this.lineBytesMax) throw tooLong('an event');
    this.isOpen = true;
    this.data = this.data === undefined ? value : `${this.data}\n${value}`;
  }

  /** Keeps the data of an event that continues in the next block. */
  private keepData(): void {
    this.earlierData.push(Buffer.from(`${this.data}\n`));
    this.data = undefined;
  }

  private takeData(): string {
    const { data } = this;
    this.isOpen = false;
    this.data = undefined;
    if (this.earlierData.length === 0) return data ?? '';
    const earlier = this.earlierData.take().toString();
    return data === undefined ? earlier.slice(0, -1) : earlier + data;
  }
}

/**
 * Returns the payloads in the data of an event: one, or those of its lines where only the lines are JSON. Some servers end an event with a
 * line `[DONE]`, or send events without blank lines between them.
 */
function splitPayloads(data: string): string[] {
  if (!data.includes('\n') || isJson(data)) return [data];
  const lines = data.split('\n').filter((line) => line.trim() !== '');
  const payloads = lines.filter((line) => line.trim() === '[DONE]' || isJson(line));
  return payloads.length === lines.length ? payloads : [data];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns an error payload with this text or JSON. An empty text is an error too. */
function describeError(data: string): string {
  const isJson = /^\s*(?:[{[]|"[^"])/.test(data);
  return `{"error":${isJson ? data : JSON.stringify(data.trim() || 'unspecified error')}}`;
}

/** Returns the text after the field's name and colon, without one leading space. */
function fieldValue(line: string): string {
  const colon = line.indexOf(':');
  if (colon === -1) return '';
  return line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
}

function lastLineEnd(bytes: Buffer): number {
  return Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN));
}

/** Returns where the first line of more than `bytesMax` begins; -1 when there is none. `block` ends with a line end. */
function findLongLine(block: Buffer, bytesMax: number): number {
  let lineFeed = -1;
  let carriageReturn = -1;
  for (let start = 0; start < block.length; start = Math.min(lineFeed, carriageReturn) + 1) {
    if (lineFeed < start) lineFeed = indexOrEnd(block, LINE_FEED, start);
    if (carriageReturn < start) carriageReturn = indexOrEnd(block, CARRIAGE_RETURN, start);
    if (Math.min(lineFeed, carriageReturn) - start > bytesMax) return start;
  }
  return -1;
}

function indexOrEnd(block: Buffer, byte: number, from: number): number {
  const at = block.indexOf(byte, from);
  return at === -1 ? block.length : at;
}

function tooLong(what: string): UpstreamFailure {
  return new UpstreamFailure('limit', 'upstream_error', { detail: `${what} of the stream is too long` });
}
