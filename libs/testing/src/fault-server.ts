import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** One request as it came, and the bare socket to answer on: nothing stands between a test and the bytes it sends. */
export interface Exchange {
  socket: Socket;
  /** Request line and headers. */
  head: string;
  body: string;
  /** Which request of its connection, from 1. */
  number: number;
}

export type Fault = (exchange: Exchange) => void | Promise<void>;

/** An upstream that does to its socket whatever a test says: HTTP libraries refuse to misbehave. */
export class FaultServer {
  /** Requests that have arrived whole. */
  requests = 0;
  /** Head of the last request. */
  lastHead = '';
  connections = 0;
  /** Bytes given to sockets that have closed since. */
  bytesSent = 0;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private fault: Fault = ({ socket }) => void socket.destroy();
  private arrived: (() => void)[] = [];

  private constructor(tls?: TlsOptions) {
    this.server = tls === undefined ? createServer() : createTlsServer(tls);
    this.server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => this.serve(socket));
  }

  static async start(fault?: Fault, options: { tls?: TlsOptions; port?: number; host?: string } = {}): Promise<FaultServer> {
    const server = new FaultServer(options.tls);
    if (fault !== undefined) server.fault = fault;
    server.server.listen(options.port ?? 0, options.host ?? '127.0.0.1');
    await once(server.server, 'listening');
    return server;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get openSockets(): number {
    return this.sockets.size;
  }

  behave(fault: Fault): void {
    this.fault = fault;
  }

  /** Resolves when the next request has arrived whole. */
  nextRequest(): Promise<void> {
    return new Promise((resolve) => this.arrived.push(resolve));
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    this.connections += 1;
    this.sockets.add(socket);
    socket.setNoDelay();
    socket.on('error', () => {});
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.bytesSent += socket.bytesWritten;
    });
    let received: Buffer = Buffer.alloc(0);
    let number = 0;
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      for (let request = takeRequest(received); request !== undefined; request = takeRequest(received)) {
        received = request.rest;
        this.answer({ socket, head: request.head, body: request.body, number: ++number });
      }
    });
  }

  private answer(exchange: Exchange): void {
    this.requests += 1;
    this.lastHead = exchange.head;
    for (const resolve of this.arrived.splice(0)) resolve();
    void Promise.resolve(this.fault(exchange)).catch((error: unknown) => exchange.socket.destroy(error as Error));
  }
}

function takeRequest(bytes: Buffer): { head: string; body: string; rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = bytes.subarray(0, end).toString('latin1');
  const from = end + 4;
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  if (bytes.length < from + length) return undefined;
  return { head, body: bytes.subarray(from, from + length).toString(), rest: bytes.subarray(from + length) };
}

/** Writes, and waits until the other side has taken it. False when the socket is gone. */
export async function send(socket: Socket, bytes: string | Buffer): Promise<boolean> {
  if (socket.destroyed) return false;
  if (socket.write(bytes)) return true;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
  return !socket.destroyed;
}

/** Sends the same bytes again and again, as fast as they are taken, until so many have gone or the socket is closed. */
export async function flood(socket: Socket, bytes: string | Buffer, bytesMax = 10 * 1024 ** 3): Promise<void> {
  const block = Buffer.from(bytes);
  for (let sent = 0; sent < bytesMax; sent += block.length) if (!(await send(socket, block))) return;
  socket.end();
}

/** Sends the bytes one by one. */
export function drip(socket: Socket, bytes: string, everyMs: number): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < bytes.length) socket.write(bytes.charAt(at++));
    else clearInterval(timer);
  }, everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** A head of a reply. `headers` replace what a stream would have; null leaves one out. */
export function replyHead(headers: Record<string, string | null> = {}, statusLine = 'HTTP/1.1 200 OK'): string {
  const all = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}\r\n`]));
  return `${statusLine}\r\n${lines.join('')}\r\n`;
}

/** Pieces in chunked coding, without the last chunk. */
export function chunked(...pieces: (string | Buffer)[]): string {
  return pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece.toString()}\r\n`).join('');
}

export const LAST_CHUNK = '0\r\n\r\n';

/** A plain reply of its true length. */
export function wholeReply(body: string, headers: Record<string, string | null> = {}, statusLine?: string): string {
  const length = { 'transfer-encoding': null, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return replyHead({ ...length, ...headers }, statusLine) + body;
}
