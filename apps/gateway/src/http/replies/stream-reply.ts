import type { ServerResponse } from 'node:http';
import type { GatewayError } from '#inference/errors.js';
import { type FinishReason, isContent, type StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { Reply } from '../../pipeline/reply.js';
import type { StreamRenderer } from '../../protocols/protocol-adapter.js';
import type { Exchange } from '../http-exchange.js';
import { ChunkedBody } from './chunked-body.js';
import { writeStreamHead } from './write-reply.js';

export interface StreamTimes {
  /** How long the status waits for the first content. */
  peekMs: number;
  /** Silence after which the client gets a sign of life. */
  keepAliveMs: number;
  /** A client that takes nothing for this long is cut off. */
  drainMs: number;
}

/** How long the last content waits for the terminal frames: longer than a settlement usually takes, shorter than anyone notices. */
const LAST_CONTENT_MS = 20;

/**
 * A reply as server-sent events, one socket write a batch. Nothing is written before the first content, so that a failure
 * until then keeps its HTTP status; after `peekMs` without content the stream begins with a sign of life instead.
 */
export class StreamReply implements Reply {
  /** What came before the first content, and is rendered with it. */
  private heldBack: StreamEvent[] = [];
  private body: ChunkedBody | undefined;
  private draining = false;
  private lastText = '';
  private lastTimer: NodeJS.Timeout | undefined;
  /** Runs since the last write. */
  private silence: NodeJS.Timeout;

  constructor(
    private readonly exchange: Exchange,
    private readonly response: ServerResponse,
    private readonly renderer: StreamRenderer,
    private readonly times: StreamTimes,
  ) {
    this.silence = setTimeout(() => this.breakSilence(times.peekMs), times.peekMs);
  }

  get stopped(): AbortSignal {
    return this.exchange.stopped;
  }

  /** Whether a failure has to be told within the stream. */
  get hasBegun(): boolean {
    return this.body !== undefined;
  }

  send(batch: readonly StreamEvent[], isLast: boolean): Promise<void> | undefined {
    const hasContent = this.exchange.firstContentAt !== undefined || batch.some(isContent);
    if (hasContent) this.exchange.firstContentAt ??= performance.now();
    if (!this.hasBegun && !hasContent) {
      this.heldBack.push(...batch);
      return undefined;
    }
    const text = this.renderer.render(this.takeHeldBack(batch));
    return isLast ? this.writeWithTerminal(text) : this.write(text);
  }

  finish(reason: FinishReason, usage: Usage): void {
    const heldBack = this.hasBegun ? '' : this.renderer.render(this.takeHeldBack([]));
    this.end(this.lastText + heldBack + this.renderer.finish(reason, usage));
  }

  /** Only once the stream has begun. */
  fail(error: GatewayError): void {
    this.exchange.error = error;
    this.end(this.lastText + this.renderer.fail(error));
  }

  /** To be called once, however the request ended. */
  close(): void {
    clearTimeout(this.silence);
    clearTimeout(this.lastTimer);
  }

  private takeHeldBack(batch: readonly StreamEvent[]): readonly StreamEvent[] {
    if (this.heldBack.length === 0) return batch;
    const all = [...this.heldBack, ...batch];
    this.heldBack = [];
    return all;
  }

  private write(text: string): Promise<void> | undefined {
    if (text === '') return undefined;
    // The socket may be gone before its `close` event says so; writing to it would be an error.
    if (this.response.destroyed) return this.drained();
    const body = this.begin();
    this.silence.refresh();
    return body.write(text) ? undefined : this.drained();
  }

  /** The last content leaves in one write with the terminal frames, which follow as soon as the settlement is safe. */
  private writeWithTerminal(text: string): undefined {
    this.begin();
    this.lastText = text;
    this.lastTimer = setTimeout(() => {
      this.lastText = '';
      void this.write(text);
    }, LAST_CONTENT_MS);
  }

  private begin(): ChunkedBody {
    if (this.body !== undefined) return this.body;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.breakSilence(this.times.keepAliveMs), this.times.keepAliveMs);
    writeStreamHead(this.exchange, this.response);
    this.body = new ChunkedBody(this.response);
    return this.body;
  }

  private end(text: string): void {
    if (this.response.destroyed) return;
    const body = this.begin();
    this.close();
    body.end(text);
  }

  /**
   * Resolves when the client has taken what was written, or the reply is stopped: on a destroyed socket `drain` never comes. A
   * client that takes nothing for long is cut off, which makes it gone.
   */
  private drained(): Promise<void> {
    this.draining = true;
    const { response, stopped } = this;
    return new Promise((resolve) => {
      const done = (): void => {
        this.draining = false;
        clearTimeout(patience);
        response.off('drain', done);
        stopped.removeEventListener('abort', done);
        resolve();
      };
      const patience = setTimeout(() => {
        response.destroy();
        done();
      }, this.times.drainMs);
      response.once('drain', done);
      stopped.addEventListener('abort', done, { once: true });
      if (stopped.aborted) done();
    });
  }

  private breakSilence(silentMs: number): void {
    // A client that is slow to take what it was sent does not wonder whether we are there.
    this.silence.refresh();
    if (!this.draining) void this.write(this.renderer.keepAlive(silentMs));
  }
}
