import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Format, Received } from '../formats/format.ts';
import { BEGUN_AFTER_MS, type CallFacts } from '../money/terms.ts';

/** The most that is kept of what was written, for the evidence of a failed row. */
const WRITTEN_MAX = 8_000;

/** One call of the scripted upstream: what it has sent, and how it ended. */
export class Call implements CallFacts {
  readonly format: Format;
  readonly received: Received;
  /** The route that was called: 0 is the first. */
  readonly route: number;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
  /** Resolves when the connection is closed or the reply is over. */
  readonly closed: Promise<void>;
  isRefused = false;
  isComplete = false;
  wasLeft = false;
  outputServed = 0;
  /** The bytes that were written, as text. */
  written = '';
  closedAfterMs: number | undefined;
  private hasAnswered = false;
  private isOver = false;
  private readonly startedAt = performance.now();
  private readonly response: ServerResponse;
  private readonly socket: Socket;

  constructor(request: IncomingMessage, response: ServerResponse, parts: { format: Format; body: string; route: number }) {
    this.format = parts.format;
    this.body = parts.body;
    this.route = parts.route;
    this.headers = request.headers;
    this.received = parts.format.readAsk(JSON.parse(parts.body));
    this.response = response;
    this.socket = request.socket;
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    const close = (): void => {
      if (this.closedAfterMs !== undefined) return;
      this.closedAfterMs = performance.now() - this.startedAt;
      this.wasLeft = !this.isOver;
      this.isOver = true;
      closed.resolve();
    };
    response.on('close', close);
    this.socket.once('close', close);
    void this.closed.then(() => this.socket.off('close', close));
  }

  get isStream(): boolean {
    return this.received.isStream;
  }

  get hasBegun(): boolean {
    return this.hasAnswered || (this.closedAfterMs ?? performance.now() - this.startedAt) >= BEGUN_AFTER_MS;
  }

  /** True when nothing more can be sent. */
  get isClosed(): boolean {
    return this.isOver;
  }

  refuse(status: number, body: string, headers: Record<string, string> = {}): void {
    this.isRefused = true;
    this.over();
    this.note(`${status} ${body}`);
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  }

  answer(headers: Record<string, string> = {}): void {
    if (this.isOver) return;
    this.hasAnswered = true;
    this.response.writeHead(200, { 'content-type': this.isStream ? 'text/event-stream' : 'application/json', ...headers });
    this.response.flushHeaders();
  }

  /** Sends bytes that contain `tokens` of output. Resolves when the kernel has taken them. */
  async write(bytes: string | Buffer, tokens = 0): Promise<void> {
    if (this.isOver) return;
    this.outputServed += tokens;
    this.note(bytes.toString());
    await new Promise<void>((resolve) => this.response.write(bytes, () => resolve()));
  }

  /** Sends raw bytes, head included, and closes the connection. */
  writeRaw(bytes: Buffer, facts: { outputServed: number; isComplete: boolean }): void {
    this.hasAnswered = true;
    Object.assign(this, facts);
    this.over();
    this.note(bytes.toString());
    this.socket.end(bytes);
  }

  complete(): void {
    if (!this.isOver) this.isComplete = true;
  }

  end(): void {
    if (this.isOver) return;
    this.over();
    this.response.end();
  }

  /** Breaks the connection. */
  cut(): void {
    if (this.isOver) return;
    this.over();
    this.socket.destroy();
  }

  /** Resolves after `ms`, or when the connection is closed. */
  async pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    await Promise.race([promise, this.closed]);
    clearTimeout(timer);
  }

  private note(text: string): void {
    this.written = (this.written + text).slice(0, WRITTEN_MAX);
  }

  private over(): void {
    this.isOver = true;
  }
}
