import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Directives } from './directives.js';
import type { ReplyEvent, SimDialect } from './dialects/sim-dialect.js';
import { STREAM_ERROR } from './sim-error.js';

const BATCH_LENGTH = 16_384;
const NEVER_MS = 2 ** 31 - 1;

/** One request under way. */
export interface Exchange {
  response: ServerResponse;
  /** Fires when the client leaves or the connection is gone. */
  signal: AbortSignal;
  /** Destroys the connection, on purpose. */
  breakOff(): void;
}

/**
 * Writes a stream at the pace and with the fault its directives ask for. Throws the signal's reason when the client leaves;
 * every wait here ends with that signal.
 */
export async function sendStream(
  exchange: Exchange,
  events: Iterable<ReplyEvent>,
  directives: Directives,
  dialect: SimDialect,
): Promise<void> {
  const { signal } = exchange;
  const writer = new SseWriter(exchange.response, directives, signal);
  const stopping = faultAfter(directives, dialect);
  const tokenMs = directives.rate ? 1_000 / directives.rate : 0;
  const pace = new Pace(signal);
  const started = performance.now();
  let sent = 0;
  for (const { name, json, tokens } of events) {
    if (stopping && (sent >= stopping.tokens || sent + tokens > stopping.tokens)) {
      await writer.flush();
      return stopping.act(exchange, writer);
    }
    sent += tokens;
    const early = tokens > 0 && tokenMs > 0 ? started + (sent - 1) * tokenMs - performance.now() : 0;
    if (early >= 1) await pace.wait(early);
    const pending = writer.write(json, name);
    if (pending) await pending;
  }
  if (dialect.done !== undefined && !directives.nodone) await writer.write(dialect.done);
  writer.end();
}

/** The waits of one stream. They share one listener: one for each, as `node:timers/promises` has it, was a fifth of what a token cost. */
class Pace {
  private timer: NodeJS.Timeout | undefined;
  private leave: (reason: unknown) => void = () => undefined;

  constructor(private readonly signal: AbortSignal) {
    signal.addEventListener('abort', () => this.onAbort(), { once: true });
  }

  /** Rejects with the signal's reason when it fires. One at a time. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.leave = reject;
      if (this.signal.aborted) this.onAbort();
      else this.timer = setTimeout(resolve, ms);
    });
  }

  private onAbort(): void {
    clearTimeout(this.timer);
    this.leave(this.signal.reason);
  }
}

/**
 * Frames events, each as its own HTTP chunk. The chunks are made here rather than by Node: at full speed a whole burst is then one
 * write of one string, which halves what a stream costs. `split` breaks each event in two packets in the middle of whatever is there.
 */
class SseWriter {
  private readonly lineEnd: string;
  private readonly split: boolean;
  private readonly paced: boolean;
  private readonly chunked: boolean;
  private batch = '';

  constructor(
    private readonly response: ServerResponse,
    directives: Directives,
    private readonly signal: AbortSignal,
  ) {
    this.lineEnd = directives.crlf ? '\r\n' : '\n';
    this.split = directives.split === true;
    this.paced = directives.rate !== undefined;
    this.chunked = response.chunkedEncoding; // not for HTTP/1.0
    response.chunkedEncoding = false;
  }

  /** Nothing when more may follow at once, else a promise: a reader that does not read is not written to. */
  write(data: string, name?: string): Promise<void> | undefined {
    const head = name === undefined ? '' : `event: ${name}${this.lineEnd}`;
    const event = `${head}data: ${data}${this.lineEnd}${this.lineEnd}`;
    if (this.split) return this.writeHalves(Buffer.from(event));
    this.batch += this.chunked ? `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n` : event;
    if (!this.paced && this.batch.length < BATCH_LENGTH) return undefined;
    return this.writeBatch() ? undefined : this.drained();
  }

  end(): void {
    this.writeBatch();
    this.response.end(this.chunked ? '0\r\n\r\n' : undefined);
  }

  private writeBatch(): boolean {
    const { batch } = this;
    this.batch = '';
    return this.response.write(batch);
  }

  /** Resolves when everything written so far has left this process. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(this.signal.reason as Error);
      if (this.signal.aborted) return leave();
      this.signal.addEventListener('abort', leave, { once: true });
      this.response.write(this.batch, () => {
        this.signal.removeEventListener('abort', leave);
        resolve();
      });
      this.batch = '';
    });
  }

  private drained(): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.response.off('drain', done);
        reject(this.signal.reason as Error);
      };
      const done = (): void => {
        this.signal.removeEventListener('abort', leave);
        resolve();
      };
      if (this.signal.aborted) return leave();
      this.signal.addEventListener('abort', leave, { once: true });
      this.response.once('drain', done);
    });
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

/** Inside the last character of several bytes when there is one: what careless decoders break. */
function splitPoint(event: Buffer): number {
  const continuation = event.findLastIndex((byte) => (byte & 0xc0) === 0x80);
  return continuation === -1 ? event.length >> 1 : continuation;
}

interface Fault {
  tokens: number;
  act(exchange: Exchange, writer: SseWriter): Promise<void>;
}

function faultAfter(directives: Directives, dialect: SimDialect): Fault | undefined {
  const { cut, error, close, hang, nodone } = directives;
  if (cut !== undefined) return { tokens: cut, act: async (exchange) => exchange.breakOff() };
  if (close !== undefined) return { tokens: close, act: async (_exchange, writer) => writer.end() };
  if (error !== undefined) {
    return {
      tokens: error,
      act: async (_exchange, writer) => {
        const { name, json } = dialect.renderStreamError(STREAM_ERROR);
        await writer.write(json, name);
        if (dialect.done !== undefined && !nodone) await writer.write(dialect.done);
        writer.end();
      },
    };
  }
  if (typeof hang === 'number') return { tokens: hang, act: ({ signal }) => hangUntilAborted(signal) };
  return undefined;
}

/** Never resolves; rejects when the client leaves. */
export function hangUntilAborted(signal: AbortSignal): Promise<never> {
  return delay(NEVER_MS, undefined, { signal, ref: false }) as Promise<never>;
}
