import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A received request, and the socket to answer on. */
interface FaultRequest {
  socket: Socket;
  /** Request line and headers. */
  head: string;
  body: string;
  /** Number of the request on its connection, from 1. */
  number: number;
}

export type Fault = (request: FaultRequest) => void | Promise<void>;

/** An upstream that writes raw bytes to its sockets, to send faults that HTTP libraries refuse to send. */
export class FaultServer {
  /** Number of complete requests. */
  requests = 0;
  /** Request line and headers of the last request. */
  lastHead = '';
  connections = 0;
  /** Bytes written to sockets that are closed now. */
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

  /** Resolves when the next request is complete. */
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
      for (let taken = takeRequest(received); taken !== undefined; taken = takeRequest(received)) {
        received = taken.rest;
        this.answer({ socket, head: taken.head, body: taken.body, number: ++number });
      }
    });
  }

  private answer(request: FaultRequest): void {
    this.requests += 1;
    this.lastHead = request.head;
    for (const resolve of this.arrived.splice(0)) resolve();
    void Promise.resolve(this.fault(request)).catch((error: unknown) => request.socket.destroy(error as Error));
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

/** Writes and waits for the drain. Returns false when the socket is closed. */
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

/** Repeats the bytes as fast as the peer reads, up to `bytesMax` or until the socket closes. */
export async function flood(socket: Socket, bytes: string | Buffer, bytesMax = 10 * 1024 ** 3): Promise<void> {
  const block = Buffer.from(bytes);
  for (let sent = 0; sent < bytesMax; sent += block.length) if (!(await send(socket, block))) return;
  socket.end();
}

/** Sends one byte every `everyMs`. */
export function drip(socket: Socket, bytes: string, everyMs: number): void {
  let at = 0;
  const timer = setInterval(() => {
    if (at < bytes.length) socket.write(bytes.charAt(at++));
    else clearInterval(timer);
  }, everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** Head of a reply. `headers` override those of a stream; null removes one. */
export function replyHead(headers: Record<string, string | null> = {}, statusLine = 'HTTP/1.1 200 OK'): string {
  const all = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked', ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}\r\n`]));
  return `${statusLine}\r\n${lines.join('')}\r\n`;
}

/** Pieces in chunked encoding, without the last chunk. */
export function chunked(...pieces: (string | Buffer)[]): string {
  return pieces.map((piece) => `${Buffer.byteLength(piece).toString(16)}\r\n${piece.toString()}\r\n`).join('');
}

export const LAST_CHUNK = '0\r\n\r\n';

/** A plain reply with a correct content length. */
export function wholeReply(body: string, headers: Record<string, string | null> = {}, statusLine?: string): string {
  const length = { 'transfer-encoding': null, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return replyHead({ ...length, ...headers }, statusLine) + body;
}
