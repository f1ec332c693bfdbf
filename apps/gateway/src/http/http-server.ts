import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../protocols/general-error.js';
import type { AccessLog } from './access-log.js';
import { Exchange, type GatewayRequest } from './exchange.js';
import { routeAt } from './routes.js';

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

/** The Node server below the framework: limits, an exchange for each request, the access log, and a shutdown that lets replies finish. */
export class HttpServer {
  private readonly server: Server;
  private readonly running = new Set<GatewayRequest>();
  private readonly sockets = new Set<Socket>();
  private draining = false;

  constructor(
    private readonly handler: RequestListener,
    private readonly accessLog: AccessLog,
    connectionsMax: number,
  ) {
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.serve(request, response, new Exchange());
    this.server = createServer(LIMITS, serve);
    this.server.maxConnections = connectionsMax;
    // `Expect: 100-continue` is answered when the body is about to be read: a request refused before need never send it.
    this.server.on('checkContinue', (request, response) => {
      const exchange = new Exchange();
      exchange.awaitsContinue = true;
      this.serve(request, response, exchange);
    });
    this.server.on('checkExpectation', serve);
    this.server.on('clientError', refuseMalformed);
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
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

  /** Takes no more connections and lets what runs finish; after `graceMs` cuts it off. Returns when everything has ended, settlements begun included. */
  async close(graceMs: number): Promise<void> {
    this.draining = true;
    const closed = once(this.server, 'close');
    this.server.close();
    // Clients open connections ahead of their requests; Node takes those for busy, and would wait for them.
    for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
    const cut = setTimeout(() => this.server.closeAllConnections(), graceMs);
    await closed;
    clearTimeout(cut);
    await Promise.all([...this.running].map(async ({ exchange }) => exchange.work));
  }

  private serve(incoming: IncomingMessage, response: ServerResponse, exchange: Exchange): void {
    const request = Object.assign(incoming, { exchange });
    exchange.route = routeAt(request.url ?? '/')?.path ?? 'unknown';
    this.running.add(request);
    if (this.draining) response.shouldKeepAlive = false;
    // A write that loses the race against the client's leaving: `close` tells all who need to know.
    response.on('error', () => undefined);
    response.once('close', () => void this.end(request, response));
    this.handler(request, response);
  }

  private async end(request: GatewayRequest, response: ServerResponse): Promise<void> {
    const endedAt = performance.now();
    if (request.exchange.work) await request.exchange.work;
    this.running.delete(request);
    this.accessLog.write(request, response, endedAt);
    if (this.draining) setImmediate(() => this.server.closeIdleConnections());
  }
}

/** What could not be read as HTTP has no request to answer on. */
function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket & { _httpMessage?: ServerResponse }): void {
  // A reply that has begun must not get a second one in its middle; the field is how Node itself tells.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent) {
    socket.destroy();
    return;
  }
  const [status, reason] = STATUSES[error.code ?? ''] ?? [400, 'Bad Request'];
  const { requestId } = new Exchange();
  const body = renderGeneralError(new GatewayError('invalid_request', `The request could not be read: ${reason}.`));
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${requestId}\r\nrequest-id: ${requestId}\r\n\r\n${body}`,
  );
}

const STATUSES: Record<string, [status: number, reason: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout'],
};
