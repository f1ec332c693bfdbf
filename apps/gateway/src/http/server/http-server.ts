import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayError } from '#inference/errors.js';
import type { Logger } from '#observability/logger.js';
import type { AccessLog } from '../access-log.js';
import { Exchange, type GatewayRequest } from '../http-exchange.js';
import { renderErrorAt } from '../replies/render-error.js';
import { writeError } from '../replies/write-reply.js';
import { type Route, routeAt } from '../routes.js';
import { clientAddress } from './client-address.js';
import { type ClientSocket, type Connection, TOO_MANY_PIPELINED } from './connection.js';
import { Connections } from './connections.js';
import { answerProbe, isProbe } from './probes.js';
import { renderRefusal, unreadable } from './unreadable-request.js';

/** Against slow and endless requests (billing.md 7, "HTTP"). They concern receiving a request only: a reply may take as long as it takes. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16 * 1024,
  // Longer than the idle time of common load balancers: whoever closes last never closes on a request under way.
  keepAliveTimeout: 75_000,
  noDelay: true,
  // What waits for a client that does not read, before it is waited for (billing.md 7, "SSE").
  highWaterMark: 16 * 1024,
};

/**
 * How long what is ended at a shutdown may take until its connection is closed, read or not: the upstream has a second to stop, billing
 * `SETTLE_ANSWER_MS` to settle, and the client what is left to take its error.
 */
export const ENDING_MS = 4_000;

/** How long a refused client has to read why, before its connection is closed: it may never do that itself. */
const REFUSED_MS = 1_000;

export interface ClientLimits {
  /** Open at a time. */
  connectionsMax: number;
  /** Proxies before the gateway whose `X-Forwarded-For` is believed. */
  trustedProxyHops: number;
  /** A client that takes nothing of the end of its reply for this long is cut off. */
  drainMs: number;
  /** How long running requests may take at a shutdown. */
  shutdownGraceMs: number;
}

/** The Node server below the framework: limits, an exchange for each request, the access log, and a shutdown that lets replies finish. */
export class HttpServer {
  private readonly server: Server;
  private readonly running = new Map<GatewayRequest, ServerResponse>();
  private readonly connections: Connections;
  private draining = false;
  /** What is left of the requests is told this. */
  private graceIsOver: GatewayError | undefined;

  constructor(
    private readonly handler: RequestListener,
    private readonly accessLog: AccessLog,
    private readonly logger: Logger,
    private readonly limits: ClientLimits,
    private readonly isReady: () => boolean,
  ) {
    this.connections = new Connections(limits.connectionsMax);
    const admit = (request: IncomingMessage, response: ServerResponse): void => this.admit(request, response, false);
    this.server = createServer(LIMITS, admit);
    // `Expect: 100-continue` is answered when the body is about to be read: a request refused before need never send it.
    this.server.on('checkContinue', (request, response) => this.admit(request, response, true));
    this.server.on('checkExpectation', admit);
    this.server.on('clientError', (error, socket) => this.refuseUnreadable(error, socket as ClientSocket));
    this.server.on('connection', (socket) => this.connections.add(socket));
  }

  get connectionsOpen(): number {
    return this.connections.count;
  }

  get requestsRunning(): number {
    return this.running.size;
  }

  /** Returns the port; 0 asks for a free one. */
  async listen(port: number, host: string): Promise<number> {
    this.server.listen(port, host);
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  /** Nest lifecycle hook: ends all requests before anything that they use stops. */
  onModuleDestroy(): Promise<void> {
    return this.close(this.limits.shutdownGraceMs);
  }

  /**
   * Takes no more connections and lets what runs finish. What has not by `graceMs` fails with `model_unavailable`, as any failure does, and
   * `endingMs` later every connection is closed. Returns when everything has ended, settlements begun included.
   */
  async close(graceMs: number, endingMs = ENDING_MS): Promise<void> {
    this.draining = true;
    const closed = once(this.server, 'close');
    this.server.close();
    // Clients open connections ahead of their requests; Node takes those for busy, and would wait for them.
    for (const socket of this.connections.sockets()) if (socket.bytesRead === 0) socket.destroy();
    // What is not begun yet says that it is the last reply on its connection.
    for (const response of this.running.values()) response.shouldKeepAlive = false;
    const timers = [setTimeout(() => this.endRunning(), graceMs), setTimeout(() => this.closeAll(), graceMs + endingMs)];
    await closed;
    for (const timer of timers) clearTimeout(timer);
    await Promise.all([...this.running].map(([{ exchange }, response]) => ended(exchange, response)));
  }

  private endRunning(): void {
    const error = new GatewayError('model_unavailable', 'The gateway is restarting. Try again.', { retryAfterSeconds: 1 });
    this.graceIsOver = error;
    const unanswered = [...this.running].filter(([{ exchange }, response]) => isUnanswered(exchange, response));
    if (unanswered.length > 0) this.logger.warn({ running: unanswered.length }, 'shutdown grace is over; ending what still runs');
    for (const [{ exchange }] of unanswered) exchange.stop(error);
    // Half a request has nobody to be told.
    const used = new Set([...this.running.keys()].map(({ socket }) => socket));
    for (const socket of this.connections.sockets()) if (!used.has(socket)) socket.destroy();
  }

  /** What has not come to its end, since another service does not answer, is told nevertheless. */
  private closeAll(): void {
    for (const [request, response] of this.running) {
      if (!this.graceIsOver || response.headersSent || response.destroyed || !request.complete) continue;
      const { exchange } = request;
      exchange.error = this.graceIsOver;
      writeError(request, response, exchange.error, renderErrorAt(request.url ?? '/', exchange.error, exchange.requestId));
    }
    this.server.closeAllConnections();
  }

  private admit(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const connection = this.connections.of(request.socket);
    if (connection === undefined) return;
    connection.admit(response, () => {
      this.connections.started(connection);
      if (this.draining) response.shouldKeepAlive = false;
      const route = routeAt(request.url ?? '/');
      if (isProbe(request, route)) {
        response.once('close', () => this.connections.answered(connection));
        answerProbe(response, route, () => !this.draining && this.isReady());
        return;
      }
      const exchange = new Exchange();
      exchange.awaitsContinue = awaitsContinue;
      this.serve(Object.assign(request, { exchange }), response, route, connection);
    });
  }

  private serve(request: GatewayRequest, response: ServerResponse, route: Route | undefined, connection: Connection): void {
    const { exchange } = request;
    exchange.route = route?.path ?? 'unknown';
    exchange.address = clientAddress(connection.address, forwardedFor(request), this.limits.trustedProxyHops);
    connection.current = exchange;
    this.running.set(request, response);
    if (connection.unreadable && !request.complete) stopUnreadable(exchange, connection.unreadable);
    if (this.graceIsOver) exchange.stop(this.graceIsOver);
    // A write that loses the race against the client's leaving: `close` tells all who need to know.
    response.on('error', () => undefined);
    // Node renews it with every byte that leaves, and sets it back when all have left.
    response.once('prefinish', () => response.setTimeout(this.limits.drainMs, () => response.destroy()));
    response.once('close', () => {
      if (!response.writableEnded) exchange.stop();
      void this.end(request, response);
      this.connections.answered(connection);
    });
    this.handler(request, response);
  }

  private async end(request: GatewayRequest, response: ServerResponse): Promise<void> {
    const endedAt = performance.now();
    const { exchange, method, headers } = request;
    if (exchange.work) await exchange.work;
    this.running.delete(request);
    this.accessLog.write(exchange, { method, headers, status: response.headersSent ? response.statusCode : undefined }, endedAt);
    if (this.draining) setImmediate(() => this.server.closeIdleConnections());
  }

  /** Answers what could not be read as HTTP, or did not come in time, in its place behind the requests before it. */
  private refuseUnreadable(cause: NodeJS.ErrnoException, socket: ClientSocket): void {
    const connection = this.connections.of(socket);
    // A connection opened ahead of its requests has asked for nothing.
    if (!connection || cause.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) {
      socket.destroy();
      return;
    }
    if (cause.code === TOO_MANY_PIPELINED) {
      connection.closeAfterAnswers();
      return;
    }
    const error = unreadable(cause.code);
    connection.unreadable = error;
    const response = socket._httpMessage;
    if (!response) this.writeRefusal(error, connection);
    else if (response.req.complete) connection.endAfterAnswers(() => this.writeRefusal(error, connection));
    // A reply that has begun must not get a second one in its middle.
    else if (response.headersSent) socket.destroy();
    else if (connection.current) stopUnreadable(connection.current, error);
  }

  private writeRefusal(error: GatewayError, { socket, address }: Connection): void {
    if (!socket.writable) return;
    const exchange = new Exchange();
    exchange.error = error;
    exchange.address = address;
    socket.end(renderRefusal(error, exchange.requestId));
    setTimeout(() => socket.destroy(), REFUSED_MS).unref();
    this.accessLog.write(exchange, { status: error.status }, performance.now());
  }
}

/** Node joins several headers of this name with commas. */
function forwardedFor({ headers }: IncomingMessage): string | undefined {
  const value = headers['x-forwarded-for'];
  return value === undefined ? undefined : String(value);
}

function stopUnreadable(exchange: Exchange, error: GatewayError): void {
  exchange.isUnreadable = true;
  exchange.stop(error);
}

/** The server is closed a moment before its connections say that they are. */
async function ended({ work }: Exchange, response: ServerResponse): Promise<void> {
  if (!response.closed) await once(response, 'close');
  await work;
}

function isUnanswered({ error }: Exchange, response: ServerResponse): boolean {
  return !response.destroyed && !response.writableEnded && error === undefined;
}
