import type { buildConnector } from 'undici';
import type { ForwardProxies, ForwardProxy } from './forward-proxies.js';
import { type TunnelOptions, tunnelConnector } from './tunnel-connector.js';

/** Returns a connector for many destinations: each through the forward proxy of the environment, or by `direct`. */
export function proxyingConnector(
  proxies: ForwardProxies,
  direct: buildConnector.connector,
  timeoutMs: number,
  judge: TunnelOptions['judge'],
): buildConnector.connector {
  const tunnels = new Map<ForwardProxy, buildConnector.connector>();
  return (to, callback) => {
    const proxy = proxies.forUrl(new URL(`${to.protocol}//${to.host ?? to.hostname}`));
    if (proxy === undefined) return direct(to, callback);
    const tunnel = tunnels.get(proxy) ?? tunnelConnector(proxy, { timeoutMs, judge, secure: direct });
    tunnels.set(proxy, tunnel);
    return tunnel(to, callback);
  };
}
