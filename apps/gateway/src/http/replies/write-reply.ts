import type { ServerResponse } from 'node:http';
import type { GatewayError } from '#inference/errors.js';
import { canDiscardBody, discardBody } from '../../bodies/discard-body.js';
import type { Exchange, GatewayRequest } from '../http-exchange.js';

export const RETRY_AFTER_MAX_SECONDS = 60;

/** True when the same request may succeed later. Such errors say when; SDKs repeat them, and none of the others. */
export function isRetryable(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** A whole JSON reply in one write. */
export function writeJson(exchange: Exchange, response: ServerResponse, body: string): void {
  response.writeHead(200, [
    'content-type',
    'application/json',
    'content-length',
    String(Buffer.byteLength(body)),
    'x-request-id',
    exchange.requestId,
    'request-id',
    exchange.requestId,
  ]);
  response.end(body);
}

/** What opens a stream; the head goes out with the first write (H-2). */
export function writeStreamHead(exchange: Exchange, response: ServerResponse): void {
  response.writeHead(200, [
    'content-type',
    'text/event-stream; charset=utf-8',
    'cache-control',
    'no-cache, no-transform',
    'x-accel-buffering',
    'no',
    'x-request-id',
    exchange.requestId,
    'request-id',
    exchange.requestId,
  ]);
}

/**
 * An error before anything was written. `body` is the format's own rendering of it. The client can read it at once; the reply
 * ends when the client has stopped sending.
 */
export function writeError(request: GatewayRequest, response: ServerResponse, error: GatewayError, body: string, allow?: string): void {
  const { exchange } = request;
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'x-request-id': exchange.requestId,
    'request-id': exchange.requestId,
  };
  headers['x-should-retry'] = String(isRetryable(error.status));
  if (isRetryable(error.status)) headers['retry-after'] = retryAfter(error.retryAfterSeconds);
  if (allow !== undefined) headers.allow = allow;
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

/** Whole seconds, 1 to 60: clients ignore anything else (H-4). */
function retryAfter(seconds: number | undefined): number {
  return Math.min(Math.max(Math.ceil(seconds ?? 1), 1), RETRY_AFTER_MAX_SECONDS);
}
