import { randomUUIDv7 } from 'node:crypto';
import type { NextFunction, RequestHandler, Response } from 'express';
import { clientAddress, plainAddress } from '#observability/client-address.js';
import type { Logger } from '#observability/logger.js';
import { parseTraceContext, readTraceId } from '#tracing/trace-context.js';
import type { PanelRequest } from '../requests/panel-request.js';
import type { PanelMetrics } from './panel-metrics.js';

/** Status in the log and the metrics of a request whose client left before it had a reply. */
const CLIENT_LEFT = 499;

interface RequestLogOptions {
  logger: Logger;
  metrics: PanelMetrics;
  trustedProxyHops: number;
}

/**
 * Returns the handler that gives every request its id and address, and writes one log line when the reply ends. Queries are not logged,
 * because a search may contain anything.
 */
export function requestLog({ logger, metrics, trustedProxyHops }: RequestLogOptions): RequestHandler {
  return (incoming, response: Response, next: NextFunction) => {
    const request = incoming as PanelRequest;
    const startedAt = performance.now();
    const id = randomUUIDv7().replaceAll('-', '');
    const trace = parseTraceContext(request.get('traceparent'), undefined);
    request.requestId = `req_${id}`;
    request.traceId = trace === undefined ? id : readTraceId(trace);
    request.logger = logger;
    const peer = plainAddress(request.socket.remoteAddress);
    request.address = clientAddress(peer, request.get('x-forwarded-for'), trustedProxyHops);
    response.setHeader('x-request-id', request.requestId);
    response.once('close', () => {
      const { requestId, traceId, address, method, caller, path } = request;
      const status = response.headersSent ? response.statusCode : CLIENT_LEFT;
      metrics.requests.inc({ method, status: String(status) });
      const totalMs = Math.round(performance.now() - startedAt);
      logger.info({ requestId, traceId, clientAddress: address, method, path, status, actor: caller?.actor, totalMs }, 'request');
    });
    next();
  };
}
