import { isIPv6, type Socket } from 'node:net';
import { buildConnector, Client } from 'undici';
import type { ForwardProxy } from './forward-proxies.js';
import { ProxyFault, proxyClosed, proxyRefused, proxySilent, proxyUnreachable } from './proxy-fault.js';

const HEADER_BYTES_MAX = 16 * 1024;

export interface TunnelOptions {
  /** Milliseconds from the first packet to the end of the handshake with the destination. */
  timeoutMs: number;
  /** Bytes that a paused socket buffers. */
  highWaterMark?: number;
  /** Resolves with the name or address that the proxy is asked for. Rejects for a destination that may not be called. */
  judge(hostname: string): Promise<string>;
  /** Makes the TLS connection to the destination inside of the tunnel. */
  secure: buildConnector.connector;
}

/**
 * Returns a connector that reaches every destination, `http:` too, through a tunnel of the proxy. So the proxy reads no TLS, and sockets are
 * kept, timed out and closed as direct ones are. undici's ProxyAgent is not used: it names the destination by its host alone, so that the
 * proxy would resolve a name that was judged here, it reads certificates once, and its CONNECT may take five minutes.
 */
export function tunnelConnector(proxy: ForwardProxy, options: TunnelOptions): buildConnector.connector {
  const { timeoutMs, highWaterMark, judge, secure } = options;
  const dial = buildConnector({
    timeout: timeoutMs,
    ...(highWaterMark !== undefined && { highWaterMark }),
    allowH2: false,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
  const { protocol, hostname, host, port } = proxy.url;
  const address = { protocol, hostname: bare(hostname), host, port };
  return (to, callback) => {
    const destination = `${to.hostname}:${findPort(to)}`;
    let socket: Socket | undefined;
    let isDone = false;
    const finish = (error: Error | null, connected: Socket | null): void => {
      if (isDone) return;
      isDone = true;
      clearTimeout(timer);
      if (error !== null) socket?.destroy();
      callback(...((error === null ? [null, connected] : [error, null]) as Parameters<typeof callback>));
    };
    const timer = setTimeout(() => finish(proxySilent(proxy, destination, timeoutMs), null), timeoutMs);
    const dialled = new Promise<Socket>((resolve, reject) => {
      // Connectors return their sockets, though the type does not say so. A caller that gives up destroys this one.
      socket = dial(address, (...[error, connected]) =>
        error === null ? resolve(connected) : reject(proxyUnreachable(proxy, error)),
      ) as unknown as Socket;
    });
    Promise.all([dialled, judge(to.hostname)])
      .then(([connected, name]) => openTunnel(proxy, connected, `${isIPv6(name) ? `[${name}]` : name}:${findPort(to)}`))
      .then((tunnel) => {
        if (to.protocol === 'https:') secure({ ...to, httpSocket: tunnel }, finish as buildConnector.Callback);
        else finish(null, tunnel);
      })
      .catch((error: Error) => finish(error, null));
    return socket as never;
  };
}

function findPort({ protocol, port }: { protocol: string; port: string }): string {
  return port || (protocol === 'https:' ? '443' : '80');
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** Asks for a tunnel on a connected socket. Throws `ProxyFault`. */
async function openTunnel(proxy: ForwardProxy, socket: Socket, destination: string): Promise<Socket> {
  let isTaken = false;
  const client = new Client(`http://${proxy.host}`, {
    // The client asks again when its socket closes before an answer.
    connect: (_to, done) => {
      // Not at once: the client does not go on after a connector that has ended before it returns.
      if (isTaken) return process.nextTick(done, new Error('closed'), null);
      isTaken = true;
      process.nextTick(done, null, socket);
    },
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: 0, // the caller has a deadline
    allowH2: false,
  });
  try {
    const { statusCode, socket: tunnel } = await client.connect({ path: destination, headers: { host: destination, ...proxy.headers } });
    if (statusCode >= 200 && statusCode < 300) return tunnel as Socket;
    throw proxyRefused(proxy, destination, statusCode);
  } catch (error) {
    throw error instanceof ProxyFault ? error : proxyClosed(proxy, error as Error);
  } finally {
    client.destroy().catch(() => {});
  }
}
