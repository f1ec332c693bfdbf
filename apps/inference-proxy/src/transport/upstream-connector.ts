import { buildConnector } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import type { Resolver } from '#network/address-guard.js';
import { type ForwardProxies, type ForwardProxy, NO_FORWARD_PROXIES } from '#network/forward-proxy/forward-proxies.js';
import { judgeByName } from '#network/forward-proxy/judge-destination.js';
import { tunnelConnector } from '#network/forward-proxy/tunnel-connector.js';
import { ConnectionFault } from './connection-fault.js';
import { tlsConnector } from './tls-connector.js';

let proxies = NO_FORWARD_PROXIES;

/** Sets the forward proxies of this process. Call before the first upstream is known. */
export function useForwardProxies(ours: ForwardProxies): void {
  proxies = ours;
}

type Place = Pick<Upstream, 'baseUrl' | 'allowPrivateNetwork' | 'timeouts' | 'tls' | 'proxy'>;

/** Returns the connector of an upstream: direct, or through the forward proxy of its entry or of the environment. */
export function upstreamConnector(
  upstream: Place,
  options: buildConnector.BuildOptions & { highWaterMark: number },
  resolve?: Resolver,
): buildConnector.connector {
  const direct = upstream.tls ? tlsConnector(upstream.tls, options) : buildConnector(options);
  const proxy = proxyOf(upstream);
  if (proxy === undefined) return direct;
  if (proxy instanceof ConnectionFault) return (_to, callback) => process.nextTick(callback, proxy, null);
  return tunnelConnector(proxy, {
    timeoutMs: upstream.timeouts.connectMs,
    highWaterMark: options.highWaterMark,
    judge: judgeByName(upstream.allowPrivateNetwork, resolve),
    secure: direct,
  });
}

/** The catalog may name only proxies of the operator's settings: another server would see what is sent, and could be any host inside. */
function proxyOf({ baseUrl, proxy }: Place): ForwardProxy | ConnectionFault | undefined {
  if (proxy === 'off') return undefined;
  if (proxy == null) return proxies.forUrl(new URL(baseUrl));
  const { host, origin } = new URL(proxy);
  const words = `forward proxy ${host} is not declared: add ${origin} to FORWARD_PROXIES of the inference-proxy`;
  return proxies.named(proxy) ?? new ConnectionFault('PROXY_UNDECLARED', words);
}
