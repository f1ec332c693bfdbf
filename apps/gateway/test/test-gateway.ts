import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { FakeServices, TEST_KEY } from '#testing/fake-services.js';
import { GatewayConfig } from '../src/gateway.config.js';
import { heapLimits, type StartWorker } from '../src/http/bodies/body-workers.js';
import { HttpServer } from '../src/http/server/http-server.js';
import { createGateway } from '../src/start-gateway.js';

/** Starts a gateway on its own port with fakes of all other services. */
export async function startTestGateway(
  settings: Partial<GatewayConfig> = {},
  fakes = new FakeServices(),
  startWorker: StartWorker = startBodyWorker,
): Promise<TestGateway> {
  const config = Object.assign(new GatewayConfig(), { shutdownGraceMs: 2_000, ...settings });
  const { messaging } = fakes;
  const registry = new Registry();
  const logged: LogLine[] = [];
  const logger = pino({ base: {} }, { write: (line: string) => void logged.push(JSON.parse(line)) });
  const app = await createGateway({ config, logger, registry, messaging, startBodyWorker: startWorker });
  const port = await app.get(HttpServer).listen(0, config.host);
  return new TestGateway(fakes, port, () => app.close(), registry, logged);
}

/** Starts the body worker from its TypeScript source. */
export function startBodyWorker(heapMb: number): Worker {
  const at = (path: string): URL => new URL(path, import.meta.url);
  const hooks = at('../../../libs/testing/src/typescript-hooks.mjs').href;
  return new Worker(at('../src/http/bodies/body-worker.ts'), { execArgv: ['--import', hooks], resourceLimits: heapLimits(heapMb) });
}

export const CHAT = '/v1/chat/completions';
export const CHAT_BODY = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }] };
export const KEY = { authorization: `Bearer ${TEST_KEY}` };
export const JSON_TYPE = { 'content-type': 'application/json' };

/** A line of the access log or any other log line. */
type LogLine = { msg: string; requestId?: string } & Record<string, unknown>;

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Ask {
  method?: string;
  headers?: Record<string, string>;
  /** A string is sent unchanged, anything else as JSON. */
  body?: unknown;
}

export class TestGateway {
  constructor(
    readonly fakes: FakeServices,
    readonly port: number,
    readonly close: () => Promise<void>,
    readonly registry: Registry,
    /** All log lines, in order. */
    readonly logged: readonly LogLine[],
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Sends a request with only the given headers. */
  async ask(path: string, ask: Ask = {}): Promise<Answer> {
    const response = await this.open(path, ask);
    return { status: response.statusCode ?? 0, headers: response.headers, text: await readText(response) };
  }

  chat(over: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask(CHAT, { headers: { ...KEY, ...JSON_TYPE, ...headers }, body: { ...CHAT_BODY, ...over } });
  }

  /** Returns a streamed reply before its body is read. */
  openStream(over: object = {}): Promise<IncomingMessage> {
    return this.open(CHAT, { headers: { ...KEY, ...JSON_TYPE }, body: { ...CHAT_BODY, stream: true, ...over } });
  }

  /** Sends a request with `fetch`, as SDKs do. `headers` replace the key and are added to the content type. */
  post(path: string, { method = 'POST', headers = KEY, body }: Ask): Promise<Response> {
    return fetch(`${this.url}${path}`, { method, headers: { ...JSON_TYPE, ...headers }, body: textToSend(body) });
  }

  /** Opens a raw connection. */
  async connect(): Promise<Socket> {
    const socket = connect(this.port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }

  private async open(path: string, { method, headers, body }: Ask): Promise<IncomingMessage> {
    const sent = textToSend(body);
    const request = httpRequest({ port: this.port, path, method: method ?? (sent === undefined ? 'GET' : 'POST'), headers });
    request.end(sent);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  }
}

export function readError({ text }: Answer): { message: string; type: string; param?: string; code: string } {
  return JSON.parse(text).error;
}

/** Reads until the end of the stream. Throws when the connection is reset. */
export async function readText(incoming: IncomingMessage | Socket): Promise<string> {
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  return text;
}

/** Polls until the condition holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(2);
}

function textToSend(body: unknown): string | undefined {
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
}
