import type { ServerResponse } from 'node:http';
import type { GatewayError } from '#inference/errors.js';
import { canDiscardBody, discardBody } from '../bodies/discard-body.js';
import type { GatewayRequest, HttpExchange } from '../http-exchange.js';
import { rateLimitHeaders } from './rate-limit-headers.js';
import { COST_HEADER, findCost } from './reply-cost.js';

export const RETRY_AFTER_MAX_SECONDS = 60;

/** Keeps browsers from taking a reply for another type than it says. Every reply with a body has it. */
export const NO_SNIFF = ['x-content-type-options', 'nosniff'] as const;
/** Replies are of one key and its account: nothing on the way may store them. */
export const NO_STORE = ['cache-control', 'no-store'] as const;

const JSON_TYPE = 'application/json';

/** True when the same request may succeed later. Only these errors have `retry-after`, and SDKs retry only these. */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Writes a complete JSON reply in one write. */
export function writeJson(exchange: HttpExchange, response: ServerResponse, body: string, type = JSON_TYPE): void {
  writeJsonHead(exchange, response, Buffer.byteLength(body), type);
  response.end(body);
}

/** Writes the head of a JSON reply, with the cost of a settled request. Without `length` its body is sent in chunks. */
export function writeJsonHead(exchange: HttpExchange, response: ServerResponse, length?: number, type = JSON_TYPE): void {
  const cost = findCost(exchange);
  response.writeHead(200, [
    'content-type',
    type,
    ...NO_SNIFF,
    ...NO_STORE,
    ...(length === undefined ? [] : ['content-length', String(length)]),
    'x-request-id',
    exchange.requestId,
    'request-id',
    exchange.requestId,
    ...(cost === undefined ? [] : [COST_HEADER, cost]),
    ...Object.entries(rateLimitHeaders(exchange)).flat(),
  ]);
}

/** Writes the head of a stream. It is sent with the first data. */
export function writeStreamHead(exchange: HttpExchange, response: ServerResponse): void {
  response.writeHead(200, [
    'content-type',
    'text/event-stream; charset=utf-8',
    ...NO_SNIFF,
    'cache-control',
    'no-cache, no-store, no-transform',
    'x-accel-buffering',
    'no',
    'x-request-id',
    exchange.requestId,
    'request-id',
    exchange.requestId,
    ...Object.entries(rateLimitHeaders(exchange)).flat(),
  ]);
}

/**
 * Writes an error reply. `body` is the error in the format of the endpoint. The client can read it at once; the reply ends when the
 * client has stopped sending its body. `methodHeaders` say what the endpoint takes instead.
 */
export function writeError(
  request: GatewayRequest,
  response: ServerResponse,
  error: GatewayError,
  body: string,
  methodHeaders: Readonly<Record<string, string>> = {},
): void {
  const { exchange } = request;
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    [NO_SNIFF[0]]: NO_SNIFF[1],
    [NO_STORE[0]]: NO_STORE[1],
    'content-length': Buffer.byteLength(body),
    'x-request-id': exchange.requestId,
    'request-id': exchange.requestId,
    ...rateLimitHeaders(exchange),
    ...methodHeaders,
  };
  headers['x-should-retry'] = String(isRetryable(error.status));
  if (isRetryable(error.status)) headers['retry-after'] = retryAfter(error.retryAfterSeconds);
  const nothingFollows = exchange.awaitsContinue || exchange.isUnreadable || (!request.complete && !canDiscardBody());
  if (nothingFollows) headers.connection = 'close';
  response.writeHead(error.status, headers);
  if (request.complete || nothingFollows) {
    response.end(body);
    return;
  }
  response.write(body);
  void discardBody(request).then(() => response.end());
}

/** Returns `retry-after` in whole seconds from 1 to 60: clients ignore any other value. */
function retryAfter(seconds: number | undefined): number {
  return Math.min(Math.max(Math.ceil(seconds ?? 1), 1), RETRY_AFTER_MAX_SECONDS);
}
