import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { TestCertificate } from './test-certificates.js';

interface ConnectProxyOptions {
  /** `user:password` that a client must have. */
  credentials?: string;
  /** The proxy itself speaks TLS. */
  tls?: TestCertificate;
  /** Addresses by `host:port` that a client asks for. Others are connected to as they are. */
  routes?: Record<string, string>;
  port?: number;
}

/** A forward proxy on loopback that opens tunnels by CONNECT, and nothing else. */
export class ConnectProxy {
  /** Destinations that clients asked for, in order. */
  readonly asked: string[] = [];
  /** Answers instead of opening a tunnel. */
  misbehave: ((socket: Socket) => void) | undefined;
  routes: Record<string, string>;
  private readonly sockets = new Set<Socket>();
  private readonly server: ReturnType<typeof createServer>;

  private constructor(private readonly options: ConnectProxyOptions) {
    this.routes = options.routes ?? {};
    this.server = options.tls ? createTlsServer(options.tls) : createServer();
    this.server.on('connection', (socket) => this.keep(socket));
    this.server.on('connect', (request: IncomingMessage, socket: Socket) => this.open(request, socket));
    this.server.on('request', (_request, response) => response.writeHead(405).end());
  }

  static async start(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(options);
    proxy.server.listen(options.port ?? 0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Address without credentials. */
  get url(): string {
    return `${this.options.tls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  /** Connections that are open, of clients and to destinations. */
  get openSockets(): number {
    return this.sockets.size;
  }

  async stop(): Promise<void> {
    if (!this.server.listening) return;
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server, 'close');
  }

  private open({ url = '', headers }: IncomingMessage, client: Socket): void {
    this.asked.push(url);
    this.keep(client);
    const { credentials } = this.options;
    const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    if (expected && headers['proxy-authorization'] !== expected) {
      refuse(client, '407 Proxy Authentication Required');
      return;
    }
    if (this.misbehave !== undefined) {
      this.misbehave(client);
      return;
    }
    const [, host = '', port] = /^\[?(.+?)\]?:(\d+)$/.exec(this.routes[url] ?? url) ?? [];
    const server = connect({ host, port: Number(port) });
    this.keep(server);
    server.on('error', () => refuse(client, '502 Bad Gateway'));
    server.on('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(server).pipe(client);
    });
    for (const [one, other] of [[client, server] as const, [server, client] as const]) one.on('close', () => other.destroy());
  }

  private keep(socket: Socket): void {
    if (this.sockets.has(socket)) return;
    this.sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.sockets.delete(socket));
  }
}

/** Ends a CONNECT with a status. */
export function refuse(socket: Socket, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`);
}
