import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Format } from '../formats/format.ts';
import { FORMATS } from '../formats/formats.ts';
import type { PriceList, Usage } from '../money/terms.ts';
import { Call } from './call.ts';
import { Case, type Script } from './case.ts';

const BODY_BYTES_MAX = 32_000_000;

/** The upstream of the kit. It knows the script of each case by the marker in its prompt, and what each call has been served. */
export class ScriptedUpstream {
  readonly origin: string;
  /** Calls that no case expected. */
  readonly strays: string[] = [];
  private readonly server: Server;
  private readonly cases = new Map<string, Case>();
  private counter = 0;

  static async start({ port = 0 } = {}): Promise<ScriptedUpstream> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new ScriptedUpstream(server);
  }

  private constructor(server: Server) {
    this.server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => void this.serve(request, response).catch(() => response.destroy()));
  }

  /** Registers a script. Every request whose prompt has the marker of the case runs it. */
  open(script: Script, truth: Usage, options: { prices?: PriceList; blame?: 'client' | 'product' } = {}): Case {
    const opened = new Case(String(++this.counter).padStart(8, '0'), script, truth, options);
    this.cases.set(opened.id, opened);
    return opened;
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const place = readPlace(request.url ?? '');
    if (!place) {
      this.strays.push(`${request.method} ${request.url}`);
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end('{"error":{"message":"no such path","type":"not_found","code":"not_found"}}');
      return;
    }
    const body = await readBody(request);
    const found = this.cases.get(/\[case (\d{8})\]/.exec(body)?.[1] ?? '');
    if (!found) {
      this.strays.push(`${request.method} ${request.url}: no marker in the prompt`);
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(place.format.writeError('invalid_request_error', 'no marker in the prompt'));
      return;
    }
    await found.run(new Call(request, response, { format: place.format, body, route: place.route }));
  }
}

function readPlace(url: string): { format: Format; route: number } | undefined {
  const [, route, path] = /^\/[^/]+\/(\d)\/v1\/(chat\/completions|responses|messages)(?:\?|$)/.exec(url) ?? [];
  const format = Object.values(FORMATS).find((one) => one.path === `/v1/${path}`);
  return format && { format, route: Number(route) };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw new Error('the request is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
