import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { GatewayError } from '#inference/errors.js';
import { plainAddress } from '#observability/client-address.js';
import type { HttpExchange } from '../http-exchange.js';

/** Pipelined requests that may wait on one connection. SDKs and proxies do not pipeline. */
export const PIPELINED_MAX = 16;

/** Pipelined requests that may wait on all connections together. One takes up to 20 kB. */
const PIPELINED_TOTAL_MAX = 2_000;

/** Node's code for the parse error that `limitPipelining` causes. */
export const TOO_MANY_PIPELINED = 'HPE_CB_HEADERS_COMPLETE';

/** The headers callback of Node's HTTP parser returns this value to stop with a parse error. */
const STOP_PARSING = -1;

/** A socket with the internal fields of Node's HTTP server: the parser, and the reply being written. */
export type ClientSocket = Socket & {
  _httpMessage?: ServerResponse | null;
  parser?: { onIncoming?: (request: IncomingMessage, keepAlive: boolean) => number } | null;
};

interface Waiting {
  response: ServerResponse;
  serve: () => void;
}

/**
 * One client connection. It serves one request at a time in order of arrival. Node parses pipelined requests ahead; they wait here, and
 * each starts in its own turn of the event loop, so that other connections run in between.
 */
export class Connection {
  /** Address of the peer: the client, or the last proxy in front of the gateway. */
  readonly address: string;
  /** The request being served. */
  current: HttpExchange | undefined;
  /** True once a request with a valid key was served. */
  hasHadKey = false;
  /** The parse error after which nothing more can be read from this connection. */
  unreadable: GatewayError | undefined;
  private readonly waiting: Waiting[] = [];
  private busy = false;
  private whenAnswered: (() => void) | undefined;

  /** `total` counts the requests that wait on all connections. */
  constructor(
    readonly socket: ClientSocket,
    private readonly total: { waiting: number },
  ) {
    this.address = plainAddress(socket.remoteAddress);
    this.limitPipelining();
    socket.once('close', () => {
      this.total.waiting -= this.waiting.length;
      this.waiting.length = 0;
    });
  }

  /** Runs `serve` at once, or after the replies to earlier requests. Call `answered` when its reply has closed. */
  admit(response: ServerResponse, serve: () => void): void {
    if (this.busy) {
      this.waiting.push({ response, serve });
      this.total.waiting++;
    } else {
      this.busy = true;
      serve();
    }
  }

  /** Starts the next waiting request, if any. */
  answered(): void {
    this.current = undefined;
    const next = this.waiting.shift();
    if (next === undefined) {
      this.busy = false;
      this.whenAnswered?.();
      return;
    }
    this.total.waiting--;
    // The drain timeout of the previous reply does not apply to this request.
    this.socket.setTimeout(0);
    setImmediate(() => {
      if (!this.socket.destroyed) next.serve();
    });
  }

  /** Accepts no more requests, and calls `end` after the replies to accepted ones. Later calls have no effect. */
  endAfterAnswers(end: () => void): void {
    this.whenAnswered ??= end;
    // Anything read from now on is dropped. Node resumes the socket after each reply; the next parse error pauses it again.
    this.socket.pause();
  }

  /** Ends the connection after the replies to accepted requests. The last reply has `connection: close` if its head is not sent yet. */
  closeAfterAnswers(): void {
    const last = this.waiting.at(-1)?.response ?? this.socket._httpMessage;
    if (last && !last.headersSent) last.shouldKeepAlive = false;
    this.endAfterAnswers(() => this.socket.destroySoon());
  }

  /** Limits pipelined requests, for which Node has no setting: one read of 64 kB can hold 2,000 of them. */
  private limitPipelining(): void {
    const { parser } = this.socket;
    const onIncoming = parser?.onIncoming;
    if (!parser || !onIncoming) return;
    parser.onIncoming = (request, keepAlive) => {
      const isFull = this.waiting.length >= PIPELINED_MAX || this.total.waiting >= PIPELINED_TOTAL_MAX;
      return this.busy && isFull ? STOP_PARSING : onIncoming(request, keepAlive);
    };
  }
}
