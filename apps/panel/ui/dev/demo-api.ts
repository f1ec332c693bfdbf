import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Connect, Plugin } from 'vite';
import type { Reply } from './demo-endpoint.js';
import { REPLIES } from './demo-replies.js';

const PREFIX = '/panel/v1';
/** The policy of the real server, so that the preview of a build shows what it refuses. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'";

/** Answers the panel's API with invented data, in `vite` and `vite preview`, for work on the pages without a running system. */
export function demoApi(): Plugin {
  return {
    name: 'demo-api',
    configureServer: ({ middlewares }) => void middlewares.use(answer),
    configurePreviewServer: ({ middlewares }) => {
      middlewares.use((_request, response, next) => {
        response.setHeader('content-security-policy', POLICY);
        next();
      });
      middlewares.use(answer);
    },
  };
}

function answer(request: Connect.IncomingMessage, response: ServerResponse, next: () => void): void {
  const url = new URL(request.originalUrl ?? '/', 'http://localhost');
  if (!url.pathname.startsWith(PREFIX)) {
    next();
    return;
  }
  void bodyOf(request).then((body) => {
    const path = url.pathname.slice(PREFIX.length);
    const found = REPLIES.flatMap(([method, pattern, reply]) => {
      const match = request.method === method ? pattern.exec(path) : null;
      return match ? [{ match, reply }] : [];
    })[0];
    send(response, found ? found.reply({ parts: found.match.slice(1), query: url.searchParams, body }) : NOT_FOUND);
  });
}

const NOT_FOUND: Reply = {
  status: 404,
  body: { error: { message: 'There is no such thing.', type: 'not_found_error', param: null, code: 'not_found' } },
};

const EVENT_MS = 60;

function send(response: ServerResponse, { status, body, events }: Reply): void {
  if (events) {
    response.writeHead(status, { 'content-type': 'text/event-stream', 'x-gateway-request-id': events.requestId ?? '' });
    const texts = [...events.texts];
    const timer = setInterval(() => (texts.length > 0 ? response.write(`${texts.shift()}\n\n`) : response.end()), EVENT_MS);
    response.once('close', () => clearInterval(timer));
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_01j9demo7q4w' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {};
}
