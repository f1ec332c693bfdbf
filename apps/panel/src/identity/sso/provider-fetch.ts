import type { CustomFetch } from 'openid-client';
import { Agent, buildConnector, fetch as fetchByAgent } from 'undici';
import type { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import { proxyingConnector } from '#network/forward-proxy/proxying-connector.js';
import { SsoError } from './sso-error.js';

const CONNECT_TIMEOUT_MS = 5_000;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Returns the `fetch` for calls of a provider, through the forward proxy of the environment if there is one. Refuses http, except on
 * loopback. A redirect is not followed, because openid-client asks for that and treats it as a fault.
 */
export function providerFetch(proxies: ForwardProxies): CustomFetch {
  const direct = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: false, rejectUnauthorized: true, minVersion: 'TLSv1.2' });
  // The provider is the operator's: the proxy may resolve its name.
  const connect = proxyingConnector(proxies, direct, CONNECT_TIMEOUT_MS, async (hostname) => hostname);
  const dispatcher = new Agent({ connect, allowH2: false });
  return async (address, options) => {
    const url = new URL(address);
    demandSecure(url);
    if (proxies.forUrl(url) === undefined) return fetch(url, options as RequestInit);
    const init = { ...options, dispatcher } as Parameters<typeof fetchByAgent>[1];
    return (await fetchByAgent(url, init)) as unknown as Response;
  };
}

/** @throws {SsoError} for http, except on loopback. */
export function demandSecure({ protocol, hostname }: URL): void {
  if (protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))) return;
  throw new SsoError('unavailable', 'the provider names an address without https');
}
