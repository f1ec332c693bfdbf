import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIPv4, type Socket } from 'node:net';
import type { GatewayError } from '#inference/errors.js';
import type { Exchange } from '../http-exchange.js';

/** Requests that may wait on one connection behind the one being answered. SDKs and proxies send none ahead. */
export const PIPELINED_MAX = 16;

/** Requests that may wait on all connections together: with the largest headers one takes 20 kB. Beyond it a connection gets none. */
const PIPELINED_TOTAL_MAX = 2_000;

/** Node's code of the parse error that `limitPipelining` causes. */
export const TOO_MANY_PIPELINED = 'HPE_CB_HEADERS_COMPLETE';

/** Stops Node's HTTP parser with a parse error when the headers callback returns it. */
const STOP_PARSING = -1;

/** The fields of a socket by which Node's HTTP server finds its parser and the reply being written. */
export type ClientSocket = Socket & {
  _httpMessage?: ServerResponse | null;
  parser?: { onIncoming?: (request: IncomingMessage, keepAlive: boolean) => number } | null;
};

interface Waiting {
  response: ServerResponse;
  serve: () => void;
}

/**
 * One client connection. It serves one request at a time, in the order of arrival. Node parses pipelined requests ahead; they wait here,
 * and each starts on its own turn of the event loop, so that other connections run between them.
 */
export class Connection {
  /** The address of the peer: the client, or the last proxy before the gateway. */
  readonly address: string;
  /** The request being served. */
  current: Exchange | undefined;
  /** True once a request with a valid key was served. */
  hasHadKey = false;
  /** The fault behind which nothing on this connection can be read. */
  unreadable: GatewayError | undefined;
  private readonly waiting: Waiting[] = [];
  private busy = false;
  private whenAnswered: (() => void) | undefined;

  /** `total` counts the requests that wait on all connections. */
  constructor(
    readonly socket: ClientSocket,
    private readonly total: { waiting: number },
  ) {
    this.address = plainAddress(socket.remoteAddress ?? '');
    this.limitPipelining();
    socket.once('close', () => {
      this.total.waiting -= this.waiting.length;
      this.waiting.length = 0;
    });
  }

  /** Runs `serve` at once, or after the requests before it are answered. Call `answered` when its reply has closed. */
  admit(response: ServerResponse, serve: () => void): void {
    if (this.busy) {
      this.waiting.push({ response, serve });
      this.total.waiting++;
    } else {
      this.busy = true;
      serve();
    }
  }

  /** Starts the request that waits, if any. */
  answered(): void {
    this.current = undefined;
    const next = this.waiting.shift();
    if (next === undefined) {
      this.busy = false;
      this.whenAnswered?.();
      return;
    }
    this.total.waiting--;
    // The time limit for taking the end of the reply before does not apply to this one.
    this.socket.setTimeout(0);
    setImmediate(() => {
      if (!this.socket.destroyed) next.serve();
    });
  }

  /** Takes no more requests, and calls `end` when those taken are answered. Later calls change nothing. */
  endAfterAnswers(end: () => void): void {
    this.whenAnswered ??= end;
    // Reading on would only parse what is dropped. Node resumes after each reply; the next parse error pauses again.
    this.socket.pause();
  }

  /** Ends the connection after the requests taken are answered; the last reply says so where its head is not sent yet. */
  closeAfterAnswers(): void {
    const last = this.waiting.at(-1)?.response ?? this.socket._httpMessage;
    if (last && !last.headersSent) last.shouldKeepAlive = false;
    this.endAfterAnswers(() => this.socket.destroySoon());
  }

  /** Bounds memory: one read of 64 kB can hold 2,000 requests, and Node has no setting for how many of them it parses ahead. */
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

/** An IPv4 address that came over an IPv6 socket, as IPv4; any other as it is. */
function plainAddress(address: string): string {
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : '';
  return isIPv4(mapped) ? mapped : address;
}
