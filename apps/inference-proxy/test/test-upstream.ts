import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Upstream } from '#contracts/catalog.js';
import { CAPABILITIES } from './conformance.js';

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** An HTTP server that behaves as the test says. */
export class TestUpstream {
  readonly bodies: Record<string, unknown>[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  /** Sockets accepted since the start. */
  connections = 0;
  private readonly server: Server;
  private behaviour: Behaviour = (_request, response) => void response.end();

  private constructor() {
    this.server = createServer((request, response) => void this.serve(request, response));
    this.server.on('connection', () => {
      this.connections += 1;
    });
  }

  static async start(behaviour?: Behaviour): Promise<TestUpstream> {
    const upstream = new TestUpstream();
    if (behaviour) upstream.behaviour = behaviour;
    upstream.server.listen(0, '127.0.0.1');
    await once(upstream.server, 'listening');
    return upstream;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get calls(): number {
    return this.bodies.length;
  }

  behave(behaviour: Behaviour): void {
    this.behaviour = behaviour;
  }

  /** Resolves with the next request, once it has arrived. */
  async nextRequest(): Promise<IncomingMessage> {
    const [request] = (await once(this.server, 'request')) as [IncomingMessage];
    return request;
  }

  definition(over: Partial<Omit<Upstream, 'capabilities'>> & { capabilities?: Partial<Upstream['capabilities']> } = {}): Upstream {
    return {
      id: 'test',
      kind: 'openai-chat',
      baseUrl: `http://127.0.0.1:${this.port}/v1`,
      apiKeyEnv: null,
      allowPrivateNetwork: true,
      timeouts: { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 5_000 },
      connectionsMax: 8,
      ...over,
      capabilities: { ...CAPABILITIES, ...over.capabilities },
    };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close').catch(() => {});
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await request.toArray().catch(() => undefined);
    if (body === undefined) return;
    this.bodies.push(body.length === 0 ? {} : JSON.parse(Buffer.concat(body).toString()));
    this.headers.push(request.headers);
    await this.behaviour(request, response);
  }
}

export function chunk(content: string, finishReason: string | null = null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: content === '' ? {} : { content }, finish_reason: finishReason }] })}\n\n`;
}

export const USAGE = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };
export const DONE = 'data: [DONE]\n\n';
export const USAGE_CHUNK = `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`;

/** Streams the pieces and ends. */
export function streaming(...pieces: string[]): Behaviour {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const piece of pieces) response.write(piece);
    response.end();
  };
}

/** Streams the pieces and then keeps the connection open without a byte. */
export function hanging(...pieces: string[]): Behaviour {
  return async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    for (const piece of pieces) {
      response.write(piece);
      await delay(1);
    }
  };
}

export function answering(status: number, body: unknown, headers: Record<string, string> = {}): Behaviour {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

export function plainReply(content: string): unknown {
  return { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }], usage: USAGE };
}
