import type { ProtocolName } from '../protocols/protocol-adapter.js';

export interface Route {
  method: 'GET' | 'POST';
  path: string;
  /** Where the key may stand: `Authorization: Bearer` alone, or also `x-api-key`, which then wins (architecture.md, "Where the contract is silent"). */
  key: 'none' | 'bearer' | 'bearer-or-x-api-key';
  /** Whose error bodies it answers with, and so do unknown paths below it; absent: the general ones, which are chat's (spec 7). */
  format?: ProtocolName;
  /** True for endpoints with a key that bill nothing. They have a rate of their own, since no reserve limits them. */
  isFree?: true;
}

/** Every endpoint there is. As the router has it, case and a final slash do not matter; query strings are ignored (L-3). */
export const ROUTES = {
  chatCompletions: { method: 'POST', path: '/v1/chat/completions', key: 'bearer', format: 'chat' },
  responses: { method: 'POST', path: '/v1/responses', key: 'bearer', format: 'responses' },
  messages: { method: 'POST', path: '/v1/messages', key: 'bearer-or-x-api-key', format: 'messages' },
  countTokens: { method: 'POST', path: '/v1/messages/count_tokens', key: 'bearer-or-x-api-key', format: 'messages', isFree: true },
  models: { method: 'GET', path: '/v1/models', key: 'bearer-or-x-api-key', isFree: true },
  model: { method: 'GET', path: '/v1/models/:id', key: 'bearer-or-x-api-key', isFree: true },
  balance: { method: 'GET', path: '/v1/balance', key: 'bearer', isFree: true },
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

/** The route at a URL's path, whatever its method; undefined when there is nothing there. */
export function routeAt(url: string): Route | undefined {
  const path = pathOf(url);
  return MATCHERS.find(({ pattern }) => pattern.test(path))?.route;
}

/** What a client with a wrong base URL is after: one `/v1` too few, or too much before the last one. */
export function routeMeantBy(url: string): Route | undefined {
  const path = pathOf(url);
  const surplus = path.lastIndexOf('/v1/');
  return routeAt(surplus > 0 ? path.slice(surplus) : `/v1${path}`);
}

/** Whose error bodies a URL answers with (spec 7): those of the format that lives there, even if the base URL is wrong. */
export function protocolAt(url: string): ProtocolName {
  const path = pathOf(url);
  const route = routeAt(url) ?? routeMeantBy(url) ?? Object.values<Route>(ROUTES).find((above) => path.startsWith(`${above.path}/`));
  return route?.format ?? 'chat';
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return (query === -1 ? url : url.slice(0, query)).toLowerCase();
}
