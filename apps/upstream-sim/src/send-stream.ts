import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Directives } from './directives.js';
import type { ReplyEvent } from './render-reply.js';
import { STREAM_ERROR } from './sim-error.js';

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
export async function sendStream(exchange: Exchange, events: Iterable<ReplyEvent>, directives: Directives): Promise<void> {
  const { response, signal } = exchange;
  const writer = new SseWriter(response, directives, signal);
  const stopping = faultAfter(directives);
  const tokenMs = directives.rate ? 1_000 / directives.rate : 0;
  const started = performance.now();
  let sent = 0;
  for (const { json, tokens } of events) {
    if (stopping && (sent >= stopping.tokens || sent + tokens > stopping.tokens)) {
      await writer.flush();
      return stopping.act(exchange, writer);
    }
    sent += tokens;
    const early = tokens > 0 && tokenMs > 0 ? started + (sent - 1) * tokenMs - performance.now() : 0;
    if (early >= 1) await delay(early, undefined, { signal });
    const pending = writer.write(json);
    if (pending) await pending;
  }
  if (!directives.nodone) await writer.write('[DONE]');
  response.end();
}

/** Frames events; `split` breaks each in two packets in the middle of whatever is there. */
class SseWriter {
  private readonly lineEnd: string;
  private readonly split: boolean;

  constructor(
    private readonly response: ServerResponse,
    directives: Directives,
    private readonly signal: AbortSignal,
  ) {
    this.lineEnd = directives.crlf ? '\r\n' : '\n';
    this.split = directives.split === true;
  }

  /** Nothing when more may follow at once, else a promise: a reader that does not read is not written to. */
  write(data: string): Promise<void> | undefined {
    const frame = `data: ${data}${this.lineEnd}${this.lineEnd}`;
    if (this.split) return this.writeHalves(Buffer.from(frame));
    return this.response.write(frame) ? undefined : this.drained();
  }

  /** Resolves when everything written so far has left this process. */
  flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(this.signal.reason as Error);
      if (this.signal.aborted) return leave();
      this.signal.addEventListener('abort', leave, { once: true });
      this.response.write('', () => {
        this.signal.removeEventListener('abort', leave);
        resolve();
      });
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

  private async writeHalves(frame: Buffer): Promise<void> {
    const middle = splitPoint(frame);
    for (const half of [frame.subarray(0, middle), frame.subarray(middle)]) {
      if (!this.response.write(half)) await this.drained();
      await delay(1, undefined, { signal: this.signal });
    }
  }
}

/** Inside the last character of several bytes when there is one: what careless decoders break. */
function splitPoint(frame: Buffer): number {
  const continuation = frame.findLastIndex((byte) => (byte & 0xc0) === 0x80);
  return continuation === -1 ? frame.length >> 1 : continuation;
}

interface Fault {
  tokens: number;
  act(exchange: Exchange, writer: SseWriter): Promise<void>;
}

function faultAfter(directives: Directives): Fault | undefined {
  const { cut, error, close, hang, nodone } = directives;
  if (cut !== undefined) return { tokens: cut, act: async (exchange) => exchange.breakOff() };
  if (close !== undefined) return { tokens: close, act: async ({ response }) => void response.end() };
  if (error !== undefined) {
    return {
      tokens: error,
      act: async ({ response }, writer) => {
        await writer.write(JSON.stringify({ error: STREAM_ERROR }));
        if (!nodone) await writer.write('[DONE]');
        response.end();
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
