import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ReplyEvent, SimDialect } from './dialects/sim-dialect.js';
import type { Directives } from './directives.js';
import type { ErrorObject } from './sim-error.js';

const BATCH_LENGTH = 16_384;
const NEVER_MS = 2 ** 31 - 1;
const STREAM_ERROR: ErrorObject = { message: 'The engine failed while generating.', type: 'server_error', param: null, code: null };

/** The reply to one request. */
export interface SimReply {
  response: ServerResponse;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
  /** Destroys the connection, and counts the request as broken off. */
  breakOff(): void;
}

/** Writes a stream at the pace and with the fault of its directives. Rejects when the client disconnects. */
export async function sendStream(
  reply: SimReply,
  events: Iterable<ReplyEvent>,
  directives: Directives,
  dialect: SimDialect,
): Promise<void> {
  const { signal } = reply;
  const writer = new EventWriter(reply.response, directives, signal, dialect);
  const stopping = faultAfter(directives, dialect);
  const tokenMs = directives.rate ? 1_000 / directives.rate : 0;
  const pace = new Pace(signal);
  const started = performance.now();
  let sent = 0;
  for (const event of withMarker('reply', events, directives, dialect)) {
    const { tokens } = event;
    if (stopping && (sent >= stopping.tokens || sent + tokens > stopping.tokens)) {
      await writer.flush();
      return stopping.act(reply, writer);
    }
    sent += tokens;
    const early = tokens > 0 && tokenMs > 0 ? started + (sent - 1) * tokenMs - performance.now() : 0;
    if (early >= 1) await pace.wait(early);
    const pending = writer.write(event);
    if (pending) await pending;
  }
  if (directives.open === undefined) return writer.end();
  await writer.flush();
  await stayOpen(signal, directives.open, () => writer.comment());
}

/** Adds the end marker of the dialect, if it has one there; with `joined` as a second line of the last event. */
function* withMarker(
  end: 'reply' | 'error',
  events: Iterable<ReplyEvent>,
  { nodone, joined }: Directives,
  { marker, markerAfter }: SimDialect,
): Generator<ReplyEvent> {
  if (!joined) {
    yield* events;
    if (!nodone && markerAfter.includes(end)) yield marker;
    return;
  }
  let last: ReplyEvent | undefined;
  for (const event of events) {
    if (last !== undefined) yield last;
    last = event;
  }
  if (last !== undefined) yield nodone ? last : { ...last, secondLine: marker.json };
}

/** Beats until the client disconnects, then rejects. */
export async function stayOpen(signal: AbortSignal, everyMs: number, beat: () => void): Promise<never> {
  for (;;) {
    await delay(Math.max(1, everyMs), undefined, { signal, ref: false });
    beat();
  }
}

/** The waits of one stream share one abort listener: one each, as in `node:timers/promises`, cost a fifth of a token's time. */
class Pace {
  private timer: NodeJS.Timeout | undefined;
  private reject: (reason: unknown) => void = () => undefined;

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', () => this.onAbort(), { once: true });
  }

  /** Rejects with the signal's reason when it aborts. One wait at a time. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.reject = reject;
      if (this.signal.aborted) this.onAbort();
      else this.timer = setTimeout(resolve, ms);
    });
  }

  private onAbort(): void {
    clearTimeout(this.timer);
    this.reject(this.signal.reason);
  }
}

/**
 * Frames each event as an HTTP chunk of its own. Writing the chunks here instead of in Node makes a burst one write of one string, which
 * halves the cost of a stream. `split` sends each event in two packets.
 */
class EventWriter {
  private readonly lineEnd: string;
  /** The batch is a string also where it is bytes, each as one character. */
  private readonly encoding: 'utf8' | 'latin1';
  private readonly split: boolean;
  private readonly paced: boolean;
  private readonly chunked: boolean;
  private batch = '';

  constructor(
    private readonly response: ServerResponse,
    directives: Directives,
    private readonly signal: AbortSignal,
    private readonly dialect: Pick<SimDialect, 'frame'>,
  ) {
    this.encoding = dialect.frame === undefined ? 'utf8' : 'latin1';
    this.lineEnd = directives.crlf ? '\r\n' : '\n';
    this.split = directives.split === true;
    this.paced = directives.rate !== undefined;
    this.chunked = response.chunkedEncoding; // not for HTTP/1.0
    response.chunkedEncoding = false;
  }

  /** Returns a promise when the caller has to wait for the client to read. */
  write(event: ReplyEvent): Promise<void> | undefined {
    const text = this.dialect.frame?.(event).toString(this.encoding) ?? this.renderEvent(event);
    if (this.split) return this.writeHalves(Buffer.from(text, this.encoding));
    this.add(text);
    if (!this.paced && this.batch.length < BATCH_LENGTH) return undefined;
    return this.writeBatch() ? undefined : this.drained();
  }

  private renderEvent({ name, json, secondLine }: ReplyEvent): string {
    const { lineEnd } = this;
    const head = name === undefined ? '' : `event: ${name}${lineEnd}`;
    const second = secondLine === undefined ? '' : `data: ${secondLine}${lineEnd}`;
    return `${head}data: ${json}${lineEnd}${second}${lineEnd}`;
  }

  /** Writes a comment, unless the client does not read or frames have none. */
  comment(): void {
    if (this.response.writableNeedDrain || this.dialect.frame !== undefined) return;
    this.add(`: keep-alive${this.lineEnd}${this.lineEnd}`);
    this.writeBatch();
  }

  private add(text: string): void {
    this.batch += this.chunked ? `${Buffer.byteLength(text, this.encoding).toString(16)}\r\n${text}\r\n` : text;
  }

  end(): void {
    this.writeBatch();
    this.response.end(this.chunked ? '0\r\n\r\n' : undefined);
  }

  private writeBatch(): boolean {
    const { batch } = this;
    this.batch = '';
    return this.response.write(batch, this.encoding);
  }

  /** Resolves when the operating system has everything that was written so far. */
  async flush(): Promise<void> {
    const { batch } = this;
    this.batch = '';
    await new Promise((resolve) => this.response.write(batch, this.encoding, resolve));
    this.signal.throwIfAborted();
  }

  private async drained(): Promise<void> {
    await once(this.response, 'drain', { signal: this.signal });
  }

  private async writeHalves(event: Buffer): Promise<void> {
    const middle = splitPoint(event);
    for (const half of [event.subarray(0, middle), event.subarray(middle)]) {
      const packet = this.chunked ? Buffer.concat([Buffer.from(`${half.length.toString(16)}\r\n`), half, Buffer.from('\r\n')]) : half;
      if (!this.response.write(packet)) await this.drained();
      await delay(1, undefined, { signal: this.signal });
    }
  }
}

/** Index inside the last multi-byte character, which careless decoders break; else the middle. */
function splitPoint(event: Buffer): number {
  const continuation = event.findLastIndex((byte) => (byte & 0xc0) === 0x80);
  return continuation === -1 ? event.length >> 1 : continuation;
}

interface Fault {
  tokens: number;
  act(reply: SimReply, writer: EventWriter): Promise<void>;
}

function faultAfter(directives: Directives, dialect: SimDialect): Fault | undefined {
  const { cut, error, close, hang } = directives;
  if (cut !== undefined) return { tokens: cut, act: async (reply) => reply.breakOff() };
  if (close !== undefined) return { tokens: close, act: async (_reply, writer) => writer.end() };
  if (error !== undefined) {
    return {
      tokens: error,
      act: async (_reply, writer) => {
        const events = withMarker('error', [dialect.renderStreamError(STREAM_ERROR)], directives, dialect);
        for (const event of events) await writer.write(event);
        writer.end();
      },
    };
  }
  if (typeof hang === 'number') return { tokens: hang, act: ({ signal }) => hangUntilAborted(signal) };
  return undefined;
}

/** Never resolves. Rejects when the client disconnects. */
export function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return delay(NEVER_MS, undefined, { signal, ref: false }) as Promise<never>;
}
