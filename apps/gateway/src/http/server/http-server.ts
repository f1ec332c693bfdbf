import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayError } from '#inference/errors.js';
import { clientAddress } from '#observability/client-address.js';
import type { Logger } from '#observability/logger.js';
import type { Tracer } from '#tracing/tracer.js';
import type { AccessLog } from '../access-log.js';
import { type GatewayRequest, HttpExchange } from '../http-exchange.js';
import { renderErrorAt } from '../replies/render-error.js';
import { writeError } from '../replies/write-reply.js';
import { beginSpan, endSpan } from '../request-span.js';
import { type Route, routeAt } from '../routes.js';
import { type ClientSocket, type Connection, TOO_MANY_PIPELINED } from './connection.js';
import { Connections } from './connections.js';
import { messageClasses } from './message-classes.js';
import { answerProbe, isProbe } from './probes.js';
import { renderRefusal, unreadable } from './unreadable-request.js';

/** Limits for receiving a request, against slow and endless ones. Replies have no deadline. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 16 * 1024,
  // Longer than the idle timeout of common load balancers, so that the gateway never closes a connection that one is about to use.
  keepAliveTimeout: 75_000,
  noDelay: true,
  // Bytes buffered for a client that does not read before backpressure applies.
  highWaterMark: 16 * 1024,
};

/**
 * Milliseconds between the end of the shutdown grace and the closing of all connections: enough for the upstream to stop (1 s), for
 * billing to settle (`SETTLE_ANSWER_MS`), and for the client to read its error.
 */
export const FORCED_CLOSE_MS = 4_000;

/** Milliseconds a client has to read the refusal of an unreadable request before its connection is closed. */
const REFUSED_MS = 1_000;

interface ClientLimits {
  /** Client connections open at once. */
  connectionsMax: number;
  /** Proxies in front of the gateway whose `X-Forwarded-For` is trusted. */
  trustedProxyHops: number;
  /** Milliseconds after which a client that does not read the end of its reply is disconnected. */
  drainMs: number;
  /** Milliseconds that running requests may take at a shutdown. */
  shutdownGraceMs: number;
}

/** The Node server below Nest: limits, an exchange for each request, the access log, and a graceful shutdown. */
export class HttpServer {
  private readonly server: Server;
  private readonly running = new Map<GatewayRequest, ServerResponse>();
  private readonly connections: Connections;
  private draining = false;
  /** The error of requests that still run, set when the shutdown grace is over. */
  private shutdownError: GatewayError | undefined;

  constructor(
    private readonly handler: RequestListener,
    private readonly accessLog: AccessLog,
    private readonly logger: Logger,
    private readonly limits: ClientLimits,
    private readonly isReady: () => boolean,
    private readonly tracer?: Tracer,
  ) {
    this.connections = new Connections(limits.connectionsMax);
    const admit = (request: IncomingMessage, response: ServerResponse): void => this.admit(request, response, false);
    this.server = createServer({ ...LIMITS, ...messageClasses(handler) }, admit);
    // `100 Continue` is sent when the body is about to be read: a client whose request is refused earlier need not send it.
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

  /** Returns the port. Port 0 selects a free one. */
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
   * Accepts no more connections and lets running requests finish. Requests that still run after `graceMs` fail with `model_unavailable`, and
   * `forcedCloseMs` later all connections are closed. Returns when all requests have ended, including their settlements.
   */
  async close(graceMs: number, forcedCloseMs = FORCED_CLOSE_MS): Promise<void> {
    this.draining = true;
    const closed = once(this.server, 'close');
    this.server.close();
    // Node would wait for connections that clients opened ahead of their requests.
    for (const socket of this.connections.sockets()) if (socket.bytesRead === 0) socket.destroy();
    // Replies that have not begun announce the end of their connection.
    for (const response of this.running.values()) response.shouldKeepAlive = false;
    const timers = [setTimeout(() => this.endRunning(), graceMs), setTimeout(() => this.closeAll(), graceMs + forcedCloseMs)];
    await closed;
    for (const timer of timers) clearTimeout(timer);
    await Promise.all([...this.running].map(([{ exchange }, response]) => ended(exchange, response)));
  }

  private endRunning(): void {
    const error = new GatewayError('model_unavailable', 'The gateway is restarting. Try again.', { retryAfterSeconds: 1 });
    this.shutdownError = error;
    const unanswered = [...this.running].filter(([{ exchange }, response]) => isUnanswered(exchange, response));
    if (unanswered.length > 0) this.logger.warn({ running: unanswered.length }, 'shutdown grace over: ending running requests');
    for (const [{ exchange }] of unanswered) exchange.stop(error);
    // Connections with an incomplete request get no error.
    const used = new Set([...this.running.keys()].map(({ socket }) => socket));
    for (const socket of this.connections.sockets()) if (!used.has(socket)) socket.destroy();
  }

  /** Answers requests that still wait for another service, then closes all connections. */
  private closeAll(): void {
    for (const [request, response] of this.running) {
      if (!this.shutdownError || response.headersSent || response.destroyed || !request.complete) continue;
      const { exchange } = request;
      exchange.error = this.shutdownError;
      writeError(request, response, exchange.error, renderErrorAt(request.url ?? '/', exchange.error, exchange.requestId, request.headers));
    }
    this.server.closeAllConnections();
  }

  private admit(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
    const connection = this.connections.get(request.socket);
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
      const exchange = new HttpExchange();
      exchange.awaitsContinue = awaitsContinue;
      this.serve(Object.assign(request, { exchange }), response, route, connection);
    });
  }

  private serve(request: GatewayRequest, response: ServerResponse, route: Route | undefined, connection: Connection): void {
    const { exchange } = request;
    exchange.route = route?.path ?? 'unknown';
    beginSpan(request, route, this.tracer);
    exchange.address = clientAddress(connection.address, forwardedFor(request), this.limits.trustedProxyHops);
    connection.current = exchange;
    this.running.set(request, response);
    if (connection.unreadable && !request.complete) stopUnreadable(exchange, connection.unreadable);
    if (this.shutdownError) exchange.stop(this.shutdownError);
    // A write after the client disconnects. The `close` event handles it.
    response.on('error', () => undefined);
    response.once('prefinish', () => {
      // The operating system has taken the whole reply, as nearly always.
      if (request.socket.writableLength === 0) return;
      // Node restarts this timeout with every byte sent and clears it after the last one.
      response.setTimeout(this.limits.drainMs, () => response.destroy());
    });
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
    const status = response.headersSent ? response.statusCode : undefined;
    this.accessLog.write(exchange, { method, headers, status }, endedAt);
    endSpan(exchange, status);
    if (this.draining) setImmediate(() => this.server.closeIdleConnections());
  }

  /** Refuses a request that is not valid HTTP or arrives too slowly, after the replies to earlier requests of its connection. */
  private refuseUnreadable(cause: NodeJS.ErrnoException, socket: ClientSocket): void {
    const connection = this.connections.get(socket);
    // The client opened the connection but sent nothing.
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
    // A second reply must not be written into one that has begun.
    else if (response.headersSent) socket.destroy();
    else if (connection.current) stopUnreadable(connection.current, error);
  }

  private writeRefusal(error: GatewayError, { socket, address }: Connection): void {
    if (!socket.writable) return;
    const exchange = new HttpExchange();
    exchange.error = error;
    exchange.address = clientAddress(address, undefined, this.limits.trustedProxyHops);
    socket.end(renderRefusal(error, exchange.requestId));
    setTimeout(() => socket.destroy(), REFUSED_MS).unref();
    this.accessLog.write(exchange, { status: error.status }, performance.now());
  }
}

/** Returns `X-Forwarded-For`. Node joins repeated headers with commas. */
function forwardedFor({ headers }: IncomingMessage): string | undefined {
  const value = headers['x-forwarded-for'];
  return value === undefined ? undefined : String(value);
}

function stopUnreadable(exchange: HttpExchange, error: GatewayError): void {
  exchange.isUnreadable = true;
  exchange.stop(error);
}

/** Waits for the reply to close, which may happen shortly after the server closes, and for its work. */
async function ended({ work }: HttpExchange, response: ServerResponse): Promise<void> {
  if (!response.closed) await once(response, 'close');
  await work;
}

function isUnanswered({ error }: HttpExchange, response: ServerResponse): boolean {
  return !response.destroyed && !response.writableEnded && error === undefined;
}
