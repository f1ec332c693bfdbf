import type { ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import { GatewayError, shortened } from '#inference/errors.js';
import { ClientDisconnectedError } from '../bodies/read-body.js';
import type { GatewayRequest } from '../http-exchange.js';
import type { RequestRates } from '../limits/request-rates.js';
import { routeAt, routeMeantBy } from '../routes.js';
import { renderErrorAt } from './render-error.js';
import { writeError } from './write-reply.js';

/** Answers every error that is thrown before the reply has begun. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly rates: RequestRates) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<GatewayRequest>();
    const response = host.switchToHttp().getResponse<ServerResponse>();
    const { exchange } = request;
    if (thrown instanceof ClientDisconnectedError) {
      response.destroy();
      return;
    }
    const { error, headers } = this.translate(thrown, request);
    exchange.error = error;
    const isUnkeyed = exchange.caller === undefined && error.status < 500;
    const delay = isUnkeyed ? this.rates.countUnkeyed(exchange) : undefined;
    if (delay) void delay.then(() => this.answer(request, response, error, headers));
    else this.answer(request, response, error, headers);
  }

  private answer(request: GatewayRequest, response: ServerResponse, error: GatewayError, headers: Refusal['headers']): void {
    // The format has no place for this error once the reply has begun. A closed connection is not mistaken for success.
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    writeError(request, response, error, renderErrorAt(request.url ?? '/', error, request.exchange.requestId, request.headers), headers);
  }

  private translate(thrown: unknown, request: GatewayRequest): Refusal {
    if (thrown instanceof GatewayError) return { error: thrown };
    // Thrown by the router: no such path or method, or a path that cannot be decoded.
    if (thrown instanceof HttpException && thrown.getStatus() === 404) return unrouted(request);
    if (thrown instanceof HttpException && thrown.getStatus() < 500) {
      return { error: new GatewayError('invalid_request', 'The URL is not valid.', { status: thrown.getStatus() }) };
    }
    return { error: new GatewayError('internal_error', 'The gateway failed. The request id leads to what happened.', { cause: thrown }) };
  }
}

interface Refusal {
  error: GatewayError;
  /** Headers that say what the endpoint takes instead. */
  headers?: Readonly<Record<string, string>>;
}

/** Returns the 404, 405 or 426 of a request without a route. The error codes have none for them, so all use `invalid_request`. */
function unrouted(request: GatewayRequest): Refusal {
  const url = request.url ?? '/';
  const route = routeAt(url);
  if (!route) {
    const meant = routeMeantBy(url);
    const hint = meant ? ` Is the base URL right? This endpoint is ${meant.path}.` : '';
    const message = `There is nothing at ${request.method} ${JSON.stringify(shortened(url.split('?')[0] ?? ''))}.${hint}`;
    return { error: new GatewayError('invalid_request', message, { status: 404, type: 'not_found_error' }) };
  }
  if (isWebSocket(request)) return webSocketRefused(route.path);
  const allow = route.method === 'GET' ? 'GET, HEAD' : route.method;
  return {
    error: new GatewayError('invalid_request', `${route.path} takes ${allow}, not ${request.method}.`, { status: 405 }),
    headers: { allow },
  };
}

function isWebSocket({ method, headers }: GatewayRequest): boolean {
  return method === 'GET' && /(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade ?? '');
}

/**
 * Returns the refusal of a WebSocket handshake. Agents that can stream Responses over one take 426 as the word to use HTTP; after a 405 they
 * try again for seconds. RFC 9110 requires `upgrade` with the protocol that is spoken here.
 */
function webSocketRefused(path: string): Refusal {
  const message = `${path} does not speak WebSocket: send a POST, with \`stream\` for events.`;
  const headers = { upgrade: 'HTTP/1.1', connection: 'upgrade, close' };
  return { error: new GatewayError('invalid_request', message, { status: 426 }), headers };
}
