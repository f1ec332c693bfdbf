import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerRequest, type SimState } from './answer-request.js';
import { chatDialect } from './dialects/chat/dialect.js';
import { converseDialect } from './dialects/converse/dialect.js';
import { geminiDialect } from './dialects/gemini/dialect.js';
import { messagesDialect } from './dialects/messages/dialect.js';
import { responsesDialect } from './dialects/responses/dialect.js';
import type { SimDialect } from './dialects/sim-dialect.js';
import { parseDirectives } from './directives.js';
import { answerEmbeddings, EMBEDDING_MODELS, EMBEDDINGS_PATH } from './embeddings.js';
import { PromptCache } from './prompt-cache.js';
import { SIM_MODELS } from './reply/models.js';
import type { SimReply } from './send-stream.js';
import { SimError } from './sim-error.js';

const BODY_BYTES_MAX = 64 * 1024 ** 2;

const DIALECTS: readonly SimDialect[] = [chatDialect, responsesDialect, messagesDialect, geminiDialect, converseDialect];

export interface SimServer {
  readonly port: number;
  readonly url: string;
  /** Ends every open request at once. */
  close(): Promise<void>;
}

interface SimServerOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  /** Key that requests must send; empty accepts every request. */
  apiKey?: string;
  /** Directives of every request that does not override them. */
  defaults?: string;
  /** Keeps requests for `GET /sim/requests`. */
  record?: boolean;
  /** Clock of the prompt cache, in milliseconds. */
  now?: () => number;
}

/** Starts the simulated upstream. Its README documents endpoints and directives. */
export async function startSimServer(options: SimServerOptions): Promise<SimServer> {
  const sim = new Simulator(options);
  const server = createServer((request, response) => void sim.handle(request, response));
  // A client that half-closes has disconnected: no client half-closes a request on purpose.
  server.on('connection', (socket) => socket.on('end', () => socket.destroy()));
  server.requestTimeout = 0;
  server.keepAliveTimeout = 120_000;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${options.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class Simulator {
  private readonly log: RequestLog;
  private readonly apiKey: string;
  private readonly state: SimState;

  constructor({ apiKey = '', defaults = '', record = false, now }: SimServerOptions) {
    this.log = new RequestLog(record);
    this.apiKey = apiKey;
    this.state = { defaults: parseDirectives(defaults), failures: new Map(), cache: new PromptCache(now) };
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://sim');
    const dialect = request.method === 'POST' ? DIALECTS.find(({ path }) => path.test(url.pathname)) : undefined;
    try {
      if (dialect !== undefined) {
        const groups = dialect.path.exec(url.pathname)?.groups ?? {};
        await this.run(request, response, (body, reply) =>
          answerRequest(dialect, this.state, body, dialect.parseRequest(body, groups), reply),
        );
      } else if (request.method === 'POST' && url.pathname === EMBEDDINGS_PATH) {
        await this.run(request, response, (body, reply) => answerEmbeddings(body, this.state.defaults, reply));
      } else await this.answer(`${request.method} ${url.pathname}`, url, request, response);
    } catch (error) {
      if (response.destroyed || response.headersSent) response.destroy();
      else {
        const known = error instanceof SimError ? error : SimError.fault(error);
        reply(response, known.status, (dialect ?? chatDialect).renderError(known.body, known.status));
      }
    }
  }

  /** Reads the body of a request to a model, counts and records it, and answers it. */
  private async run(
    request: IncomingMessage,
    response: ServerResponse,
    answer: (body: string, reply: SimReply) => Promise<void>,
  ): Promise<void> {
    this.log.start();
    const disconnected = new AbortController();
    let broken = false;
    response.once('close', () => {
      this.log.end(response.writableFinished ? 'finished' : broken ? 'broken' : 'aborted');
      if (!response.writableFinished) disconnected.abort();
    });
    this.authenticate(request);
    const body = await readBody(request);
    this.log.record(() => ({ method: 'POST', path: request.url ?? '', headers: request.headers, body: parsed(body) }));
    const breakOff = (): void => {
      broken = true;
      response.destroy();
    };
    await answer(body, { response, signal: disconnected.signal, breakOff });
  }

  private async answer(route: string, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    switch (route) {
      case 'GET /livez':
      case 'GET /readyz':
        return reply(response, 200, { status: 'ok' });
      case 'GET /v1/models':
        this.authenticate(request);
        return reply(response, 200, { object: 'list', data: [...SIM_MODELS, ...EMBEDDING_MODELS].map(modelObject) });
      case 'GET /sim/stats':
        return reply(response, 200, this.log.stats());
      case 'GET /sim/requests':
        return reply(response, 200, this.log.recorded(Number(url.searchParams.get('limit') ?? '100')));
      case 'DELETE /sim/requests':
        this.log.clear();
        this.state.failures.clear();
        this.state.cache.clear();
        return void response.writeHead(204).end();
      case 'PUT /sim/defaults':
        this.state.defaults = parseDirectives(await readBody(request));
        return reply(response, 200, this.state.defaults);
      default:
        throw new SimError(404, { message: `Unknown request: ${route}.`, type: 'invalid_request_error', param: null, code: 'unknown_url' });
    }
  }

  private authenticate(request: IncomingMessage): void {
    const { authorization, 'x-api-key': key, 'x-goog-api-key': googleKey } = request.headers;
    const keys = [authorization?.replace(/^Bearer /, ''), key, googleKey];
    if (this.apiKey !== '' && !keys.includes(this.apiKey)) throw SimError.ofStatus(401);
  }
}

function modelObject([id, { contextTokens }]: [string, { contextTokens: number }]): object {
  return { id, object: 'model', created: 1_700_000_000, owned_by: 'upstream-sim', max_model_len: contextTokens };
}

function reply(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** The parsed body, or its text when it is not JSON. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** @throws SimError above `BODY_BYTES_MAX` */
async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw SimError.ofStatus(413);
    parts.push(part);
  }
  return Buffer.concat(parts, bytes).toString('utf8');
}

function listen(server: Server, { host, port }: SimServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

const RECORDED_MAX = 100;

interface RecordedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

/** `started` = `finished` + `aborted` + `broken` + `open`, at every moment. Generation requests only. */
interface RequestStats {
  started: number;
  /** Answered to the end, errors included. */
  finished: number;
  /** The client disconnected before the end. */
  aborted: number;
  /** Broken off by a directive. */
  broken: number;
  open: number;
}

/** Counts requests, and keeps the newest ones if `recording`. */
class RequestLog {
  private counts = { started: 0, finished: 0, aborted: 0, broken: 0 };
  private requests: RecordedRequest[] = [];

  constructor(private readonly recording: boolean) {}

  start(): void {
    this.counts.started++;
  }

  end(how: 'finished' | 'aborted' | 'broken'): void {
    this.counts[how]++;
  }

  /** Calls `request` only if requests are recorded. */
  record(request: () => RecordedRequest): void {
    if (!this.recording) return;
    this.requests.push(request());
    if (this.requests.length > RECORDED_MAX) this.requests.shift();
  }

  /** The newest last. */
  recorded(limit = RECORDED_MAX): RecordedRequest[] {
    return limit > 0 ? this.requests.slice(-limit) : [];
  }

  clear(): void {
    this.requests = [];
  }

  stats(): RequestStats {
    const { started, finished, aborted, broken } = this.counts;
    return { ...this.counts, open: started - finished - aborted - broken };
  }
}
