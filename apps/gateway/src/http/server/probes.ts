import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '#inference/errors.js';
import { renderGeneralError } from '../../protocols/general-error.js';
import { NO_SNIFF } from '../replies/write-reply.js';
import { ROUTES, type Route } from '../routes.js';

const OK = '{"status":"ok"}';
const NOT_READY = renderGeneralError(new GatewayError('model_unavailable', 'The gateway is not ready.'));
const HEADERS = ['content-type', 'application/json', ...NO_SNIFF];
const PROBES: ReadonlySet<Route> = new Set<Route>([ROUTES.root, ROUTES.livez, ROUTES.readyz]);

/** True for the requests with which load balancers and clients check the gateway. Some clients send `HEAD /` first. */
export function isProbe({ method }: IncomingMessage, route: Route | undefined): boolean {
  return route !== undefined && PROBES.has(route) && (method === 'GET' || method === 'HEAD');
}

/** Answers a probe in one write. Probes have no key, request id, log line, metric or rate limit, so that they never fail under load. */
export function answerProbe(response: ServerResponse, route: Route | undefined, isReady: () => boolean): void {
  const isOk = route !== ROUTES.readyz || isReady();
  const body = isOk ? OK : NOT_READY;
  const headers = [...HEADERS, 'content-length', String(body.length)];
  response.writeHead(isOk ? 200 : 503, isOk ? headers : [...headers, 'retry-after', '1']);
  response.end(body);
}
