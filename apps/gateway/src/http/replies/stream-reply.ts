import type { ServerResponse } from 'node:http';
import type { GatewayError } from '#inference/errors.js';
import { type FinishReason, isContent, type StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { Reply } from '../../pipeline/reply.js';
import type { StreamRenderer } from '../../protocols/protocol-adapter.js';
import type { HttpExchange } from '../http-exchange.js';
import { ChunkedBody } from './chunked-body.js';
import { showUsage } from './reply-cost.js';
import { writeStreamHead } from './write-reply.js';

export interface StreamTimes {
  /** Milliseconds the status waits for the first content. */
  peekMs: number;
  /** Milliseconds of silence after which a keep-alive is sent. */
  keepAliveMs: number;
  /** Milliseconds after which a client that does not read is disconnected. */
  drainMs: number;
}

/** Milliseconds the last content waits for the terminal frames: longer than most settlements, too short to notice. */
const LAST_CONTENT_MS = 20;

/**
 * Sends a reply as server-sent events with one socket write per batch. Writes nothing before the first content, so that an earlier failure
 * keeps its HTTP status. After `peekMs` without content the stream begins with a keep-alive.
 */
export class StreamReply implements Reply {
  /** Events before the first content, rendered together with it. */
  private heldBack: StreamEvent[] = [];
  private body: ChunkedBody | undefined;
  private draining = false;
  private lastText = '';
  private lastTimer: NodeJS.Timeout | undefined;
  /** Restarted by every write. */
  private keepAliveTimer: NodeJS.Timeout;

  constructor(
    private readonly exchange: HttpExchange,
    private readonly response: ServerResponse,
    private readonly renderer: StreamRenderer,
    private readonly times: StreamTimes,
  ) {
    this.keepAliveTimer = setTimeout(() => this.sendKeepAlive(times.peekMs), times.peekMs);
  }

  get stopped(): AbortSignal {
    return this.exchange.stopped;
  }

  /** True when the status was sent, so that a failure must be sent within the stream. */
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
    this.end(this.lastText + heldBack + this.renderer.finish(reason, showUsage(this.exchange, usage)));
  }

  /** Ends the stream with an error. Call it only when `hasBegun`. */
  fail(error: GatewayError): void {
    this.exchange.error = error;
    this.end(this.lastText + this.renderer.fail(error));
  }

  /** Clears all timers. Call it at the end of every request. */
  close(): void {
    clearTimeout(this.keepAliveTimer);
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
    // The socket may be destroyed before its `close` event; a write would fail.
    if (this.response.destroyed) return this.drained();
    const body = this.begin();
    this.keepAliveTimer.refresh();
    return body.write(withoutSeparators(text)) ? undefined : this.drained();
  }

  /** Delays the last content so that it leaves in one write with the terminal frames, which follow the settlement. */
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
    clearTimeout(this.keepAliveTimer);
    this.keepAliveTimer = setTimeout(() => this.sendKeepAlive(this.times.keepAliveMs), this.times.keepAliveMs);
    writeStreamHead(this.exchange, this.response);
    this.body = new ChunkedBody(this.response);
    return this.body;
  }

  private end(text: string): void {
    if (this.response.destroyed) return;
    const body = this.begin();
    this.close();
    body.end(withoutSeparators(text));
  }

  /** Resolves on `drain`, or when the reply is stopped, because a destroyed socket never drains. Disconnects the client after `drainMs`. */
  private drained(): Promise<void> {
    this.draining = true;
    const { response, stopped } = this;
    return new Promise((resolve) => {
      const done = (): void => {
        this.draining = false;
        clearTimeout(timer);
        response.off('drain', done);
        stopped.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(() => {
        response.destroy();
        done();
      }, this.times.drainMs);
      response.once('drain', done);
      stopped.addEventListener('abort', done, { once: true });
      if (stopped.aborted) done();
    });
  }

  private sendKeepAlive(silentMs: number): void {
    // A client that still has data to read needs no keep-alive.
    this.keepAliveTimer.refresh();
    if (!this.draining) void this.write(this.renderer.keepAlive(silentMs));
  }
}

/** Characters that clients take for line ends although events end lines with a line feed alone: Python's `splitlines` does. */
const SEPARATORS = /[\u0085\u2028\u2029]/g;

/** Returns frames without such characters. They stand in strings of JSON alone, where an escape is the same text. */
function withoutSeparators(frames: string): string {
  return frames.search(SEPARATORS) === -1
    ? frames
    : frames.replace(SEPARATORS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
