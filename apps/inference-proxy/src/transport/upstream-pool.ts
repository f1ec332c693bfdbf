import type { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { guardedLookup, type Resolver } from './address-guard.js';
import { type ConnectionFault, explainBrokenHandshake, explainTls, type Peer } from './connection-fault.js';
import { tlsConnector } from './tls-connector.js';

export const HEADER_BYTES_MAX = 16 * 1024;
/** What a paused socket takes from the kernel, before the read that makes it enough (64 KiB at most). */
const SOCKET_BYTES_MAX = 16 * 1024;

/**
 * Keep-alive sockets to one upstream, never more than `connectionsMax`. What exceeds them would queue silently inside the
 * pool, so routing admits no more calls than there are sockets. Certificates are verified, whatever the environment says.
 * Timeouts of a reply are `postStream`'s.
 */
export function createUpstreamPool(
  upstream: Pick<Upstream, 'baseUrl' | 'connectionsMax' | 'allowPrivateNetwork' | 'timeouts' | 'tls'>,
  resolve?: Resolver,
): Pool {
  const connect = {
    lookup: guardedLookup(upstream.allowPrivateNetwork, resolve),
    timeout: upstream.timeouts.connectMs,
    highWaterMark: SOCKET_BYTES_MAX,
    allowH2: false,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  } as const;
  return new Pool(new URL(upstream.baseUrl).origin, {
    connections: upstream.connectionsMax,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: observed(upstream.tls ? tlsConnector(upstream.tls, connect) : buildConnector(connect), upstream.tls),
  });
}

let lastOpened: unknown;

/**
 * Has a pool take a request, and returns the socket it has begun to open for it; undefined when one that is open serves it. A pool
 * names none of its sockets before a request is written, but it opens them while it takes the request.
 */
export function socketOpenedBy(dispatch: () => void): Socket | undefined {
  lastOpened = undefined;
  dispatch();
  const opened = lastOpened as Socket | undefined;
  lastOpened = undefined;
  return opened;
}

/** What is known of a socket besides what it tells its reader. */
interface Observed {
  peer: Peer;
  /** The other side broke off the handshake after we took it to be done, as TLS 1.3 lets it: whoever reads hears only of the end. */
  fault?: ConnectionFault;
}

const SOCKETS = new WeakMap<Socket, Observed>();

/** Of a socket that was connected. */
export function observedOf(socket: Socket | undefined): Observed | undefined {
  return socket && SOCKETS.get(socket);
}

/** Has errors of TLS say what to do about them. Connectors return their sockets, though their type does not say so. */
function observed(connect: buildConnector.connector, tls: Peer['tls']): buildConnector.connector {
  return (to, callback) => {
    const peer = { host: to.host ?? to.hostname, hostname: to.hostname, protocol: to.protocol, tls };
    lastOpened = connect(to, (...[error, socket]) => {
      if (error !== null) {
        callback(explainConnect(error, peer), null);
        return;
      }
      const entry: Observed = { peer };
      SOCKETS.set(socket, entry);
      socket.prependListener('error', (said: Error) => {
        entry.fault ??= explainTls(said, peer);
      });
      callback(null, socket);
    });
  };
}

function explainConnect(error: Error, peer: Peer): Error {
  const isReset = peer.protocol === 'https:' && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  return isReset ? explainBrokenHandshake(peer) : (explainTls(error, peer) ?? error);
}
