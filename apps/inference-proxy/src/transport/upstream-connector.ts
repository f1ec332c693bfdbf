import { buildConnector } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import type { Resolver } from '#network/address-guard.js';
import { type ForwardProxies, type ForwardProxy, NO_FORWARD_PROXIES } from '#network/forward-proxy/forward-proxies.js';
import { judgeByName } from '#network/forward-proxy/judge-destination.js';
import { tunnelConnector } from '#network/forward-proxy/tunnel-connector.js';
import { ConnectionFault } from '../failures/connection-fault.js';
import { sendsSecrets } from './api-key.js';
import { tlsConnector } from './tls-connector.js';

let proxies = NO_FORWARD_PROXIES;

/** Sets the forward proxies of this process. Call before the first upstream is known. */
export function useForwardProxies(ours: ForwardProxies): void {
  proxies = ours;
}

/** The facts of an upstream that decide how it is connected. */
export type Place = Pick<
  Upstream,
  'baseUrl' | 'allowPrivateNetwork' | 'timeouts' | 'tls' | 'proxy' | 'apiKeyEnv' | 'apiKeyFile' | 'auth' | 'headers'
>;

/** Returns the connector of an upstream: direct, or through the forward proxy of its entry or of the environment. */
export function upstreamConnector(
  upstream: Place,
  options: buildConnector.BuildOptions & { highWaterMark: number },
  resolve?: Resolver,
): buildConnector.connector {
  const direct = upstream.tls ? tlsConnector(upstream.tls, options) : buildConnector(options);
  const proxy = findProxy(upstream);
  if (proxy === undefined) return direct;
  if (proxy instanceof ConnectionFault) return (_to, callback) => process.nextTick(callback, proxy, null);
  return tunnelConnector(proxy, {
    timeoutMs: upstream.timeouts.connectMs,
    highWaterMark: options.highWaterMark,
    judge: judgeByName(upstream.allowPrivateNetwork, resolve),
    secure: direct,
  });
}

/**
 * The catalog may name only proxies of the operator's settings: another server would see what is sent, and could be any host inside. Nor may
 * it have a secret sent in the clear by a way of its choice: 127.0.0.1 is another machine for a proxy.
 */
function findProxy(upstream: Place): ForwardProxy | ConnectionFault | undefined {
  const { baseUrl, proxy } = upstream;
  if (proxy === 'off') return undefined;
  const url = new URL(baseUrl);
  if (proxy == null) return proxies.forUrl(url);
  const { host, origin } = new URL(proxy);
  const named = proxies.named(proxy);
  if (named === undefined) {
    const words = `forward proxy ${host} is not declared: add ${origin} to FORWARD_PROXIES of the inference-proxy`;
    return new ConnectionFault('PROXY_UNDECLARED', words);
  }
  if (proxies.isDirect(url)) return undefined;
  if (url.protocol === 'https:' || !sendsSecrets(upstream)) return named;
  const words = `forward proxy ${host} would get the secrets for ${url.host} in the clear: use https:// in baseUrl, or remove proxy from the entry`;
  return new ConnectionFault('PROXY_IN_CLEAR', words);
}
