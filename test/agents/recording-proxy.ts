import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const ERROR_BYTES_MAX = 10_000;

/** A request of an agent and the gateway's reply to it. */
export interface RecordedRequest {
  method: string;
  path: string;
  body: string;
  /** 0 until the reply begins. */
  status: number;
  requestId: string;
  /** Body of a reply that is not 200, cut. */
  error: string;
  /** Events of a stream that have come. */
  events: number;
  ended: boolean;
}

/** Stands between an agent and the gateway, passes everything on unchanged, and records it. */
export class RecordingProxy {
  readonly requests: RecordedRequest[] = [];
  private readonly watchers = new Set<() => void>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.pass(request, response));
  }

  static async to(url: string): Promise<RecordingProxy> {
    const server = createServer({ requestTimeout: 0 });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new RecordingProxy(server, new URL(url));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when `isTrue`, which is asked whenever something arrives. */
  async until(isTrue: () => boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const watcher = () => isTrue() && resolve();
    const onAbort = () => reject(signal.reason);
    this.watchers.add(watcher);
    signal.addEventListener('abort', onAbort, { once: true });
    watcher();
    await promise.finally(() => {
      this.watchers.delete(watcher);
      signal.removeEventListener('abort', onAbort);
    });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private pass(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = request;
    const recorded = { method, path: url, body: '', status: 0, requestId: '', error: '', events: 0, ended: false };
    this.requests.push(recorded);
    const onward = forward({ host: this.target.hostname, port: this.target.port, method, path: url, headers });
    request.on('data', (bytes: Buffer) => {
      recorded.body += bytes.toString('latin1');
    });
    request.pipe(onward);
    response.on('close', () => onward.destroy());
    onward.on('error', () => response.destroy());
    onward.on('response', (reply) => {
      recorded.status = reply.statusCode ?? 0;
      recorded.requestId = String(reply.headers['x-request-id'] ?? '');
      response.writeHead(recorded.status, reply.rawHeaders);
      reply.on('data', (bytes: Buffer) => {
        // An event that two packets share is missed, which no test minds.
        recorded.events += bytes.toString('latin1').split('data: ').length - 1;
        if (recorded.status !== 200 && recorded.error.length < ERROR_BYTES_MAX) recorded.error += bytes.toString();
        this.notify();
      });
      reply.on('end', () => {
        recorded.ended = true;
        this.notify();
      });
      reply.on('error', () => response.destroy());
      reply.pipe(response);
    });
  }

  private notify(): void {
    for (const watcher of this.watchers) watcher();
  }
}
