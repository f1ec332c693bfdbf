import type { IncomingHttpHeaders } from 'node:http';
import type { ProtocolName } from '../protocols/protocol-adapter.js';

export interface Route {
  method: 'GET' | 'POST';
  path: string;
  /** Accepted headers for the key: `Authorization: Bearer` only, or also `x-api-key`, which then takes precedence. */
  key: 'none' | 'bearer' | 'bearer-or-x-api-key';
  /** Format of the error bodies of this route and of unknown paths below it. Default: chat's. */
  format?: ProtocolName;
  /** True for endpoints that answer in the Messages format when the request has `anthropic-version`. */
  followsVersion?: true;
  /** True for endpoints that need a key and cost nothing. They have a rate limit of their own, because no reserve limits them. */
  isFree?: true;
}

/** All endpoints. Like the router, matching ignores case, a trailing slash and the query string. */
export const ROUTES = {
  chatCompletions: { method: 'POST', path: '/v1/chat/completions', key: 'bearer', format: 'chat' },
  responses: { method: 'POST', path: '/v1/responses', key: 'bearer', format: 'responses' },
  messages: { method: 'POST', path: '/v1/messages', key: 'bearer-or-x-api-key', format: 'messages' },
  embeddings: { method: 'POST', path: '/v1/embeddings', key: 'bearer', format: 'chat' },
  countTokens: { method: 'POST', path: '/v1/messages/count_tokens', key: 'bearer-or-x-api-key', format: 'messages', isFree: true },
  estimateChat: { method: 'POST', path: '/v1/chat/completions/estimate', key: 'bearer', format: 'chat', isFree: true },
  estimateResponse: { method: 'POST', path: '/v1/responses/estimate', key: 'bearer', format: 'responses', isFree: true },
  estimateMessage: { method: 'POST', path: '/v1/messages/estimate', key: 'bearer-or-x-api-key', format: 'messages', isFree: true },
  models: { method: 'GET', path: '/v1/models', key: 'bearer-or-x-api-key', followsVersion: true, isFree: true },
  model: { method: 'GET', path: '/v1/models/:id', key: 'bearer-or-x-api-key', followsVersion: true, isFree: true },
  balance: { method: 'GET', path: '/v1/balance', key: 'bearer', isFree: true },
  key: { method: 'GET', path: '/v1/key', key: 'bearer-or-x-api-key', isFree: true },
  childKeys: { method: 'POST', path: '/v1/key/children', key: 'bearer-or-x-api-key', isFree: true },
  childKeyRevoke: { method: 'POST', path: '/v1/key/children/:id/revoke', key: 'bearer-or-x-api-key', isFree: true },
  usage: { method: 'GET', path: '/v1/usage', key: 'bearer-or-x-api-key', isFree: true },
  request: { method: 'GET', path: '/v1/requests/:id', key: 'bearer-or-x-api-key', isFree: true },
  receipt: { method: 'GET', path: '/v1/requests/:id/receipt', key: 'bearer-or-x-api-key', isFree: true },
  receiptKeys: { method: 'GET', path: '/.well-known/tollgate-receipt-keys', key: 'none' },
  openapi: { method: 'GET', path: '/openapi.json', key: 'none' },
  root: { method: 'GET', path: '/', key: 'none' },
  livez: { method: 'GET', path: '/livez', key: 'none' },
  readyz: { method: 'GET', path: '/readyz', key: 'none' },
} as const satisfies Record<string, Route>;

export type RouteName = keyof typeof ROUTES;

const MATCHERS = Object.values(ROUTES).map((route: Route) => ({
  route,
  pattern: new RegExp(`^${route.path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+').replace(/\/$/, '')}/?$`, 'i'),
}));

/** Returns the route of a URL's path for any method; undefined when there is none. */
export function routeAt(url: string): Route | undefined {
  const path = parsePath(url);
  return MATCHERS.find(({ pattern }) => pattern.test(path))?.route;
}

/** Returns the route that a client with a wrong base URL means: `/v1` is missing, or something precedes it. */
export function routeMeantBy(url: string): Route | undefined {
  const path = parsePath(url);
  const surplus = path.lastIndexOf('/v1/');
  return routeAt(surplus > 0 ? path.slice(surplus) : `/v1${path}`);
}

/** Returns the format of a request's error bodies, also when the base URL is wrong. */
export function protocolAt(url: string, headers: IncomingHttpHeaders = {}): ProtocolName {
  const path = parsePath(url);
  const route = routeAt(url) ?? routeMeantBy(url) ?? Object.values<Route>(ROUTES).find((above) => path.startsWith(`${above.path}/`));
  return route?.format ?? (route?.followsVersion && isAnthropicClient(headers) ? 'messages' : 'chat');
}

/** True for requests of Anthropic's clients to endpoints that several formats share. */
export function isAnthropicClient(headers: IncomingHttpHeaders): boolean {
  return headers['anthropic-version'] !== undefined;
}

function parsePath(url: string): string {
  const query = url.indexOf('?');
  return (query === -1 ? url : url.slice(0, query)).toLowerCase();
}
