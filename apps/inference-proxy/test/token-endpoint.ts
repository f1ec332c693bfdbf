import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it arrived, without headers that every request has. */
export interface SeenRequest {
  line: string;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

export type TokenBehaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** A fake of an endpoint that issues tokens. It keeps each request, and answers as the test says. */
export class TokenEndpoint {
  readonly requests: SeenRequest[] = [];
  behaviour: TokenBehaviour = issuing({ access_token: 'token-1', token_type: 'Bearer', expires_in: 3_600 });
  private readonly server: Server;

  private constructor() {
    this.server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      const { host, connection, 'user-agent': agent, 'accept-encoding': encoding, 'content-length': length, ...headers } = request.headers;
      this.requests.push({ line: `${request.method} ${request.url}`, headers, body });
      this.behaviour(request, response);
    });
  }

  static async start(): Promise<TokenEndpoint> {
    const endpoint = new TokenEndpoint();
    endpoint.server.listen(0, '127.0.0.1');
    await once(endpoint.server, 'listening');
    return endpoint;
  }

  get host(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}/token`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close').catch(() => {});
  }
}

/** Answers with a text, or with JSON. */
export function issuing(answer: object | string, status = 200, headers: Record<string, string> = {}): TokenBehaviour {
  return (_request, response) => void response.writeHead(status, headers).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
}
