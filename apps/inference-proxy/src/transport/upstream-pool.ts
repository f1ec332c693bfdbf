import type { Socket } from 'node:net';
import { type buildConnector, Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { guardedLookup, type Resolver } from '#network/address-guard.js';
import { ProxyFault } from '#network/forward-proxy/proxy-fault.js';
import { ConnectionFault, explainBrokenHandshake, explainTls, type Peer } from '../failures/connection-fault.js';
import { type Place, upstreamConnector } from './upstream-connector.js';

const HEADER_BYTES_MAX = 16 * 1024;
/** Bytes that a paused socket buffers, beyond one read of at most 64 KiB. */
const SOCKET_BYTES_MAX = 16 * 1024;

/**
 * Creates a pool of at most `connectionsMax` keep-alive sockets to one upstream. Further calls would queue silently in the pool, so
 * routing admits no more calls than sockets. Certificates are verified even when the environment disables that. `postStream` applies the
 * timeouts of replies.
 */
export function createUpstreamPool(upstream: Place & Pick<Upstream, 'connectionsMax'>, resolve?: Resolver): Pool {
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
    connect: observed(upstreamConnector(upstream, connect, resolve), upstream.tls),
  });
}

let lastOpened: unknown;

/**
 * Dispatches a request and returns the socket that the pool opened for it; undefined when it reuses one. A pool does not name the socket
 * of a request, but it opens a new one synchronously.
 */
export function socketOpenedBy(dispatch: () => void): Socket | undefined {
  lastOpened = undefined;
  dispatch();
  const opened = lastOpened as Socket | undefined;
  lastOpened = undefined;
  return opened;
}

/** Facts about a socket that its reader does not get. */
interface Observed {
  peer: Peer;
  /** Reason that the upstream ended the handshake. With TLS 1.3 it may do so after ours succeeded, and the reader only sees the end. */
  fault?: ConnectionFault;
}

const SOCKETS = new WeakMap<Socket, Observed>();

/** Returns the facts about a connected socket. */
export function findObserved(socket: Socket | undefined): Observed | undefined {
  return socket && SOCKETS.get(socket);
}

/** Wraps a connector so that TLS errors explain what to do. Connectors return their sockets, though the type does not say so. */
function observed(connect: buildConnector.connector, tls: Peer['tls']): buildConnector.connector {
  return (to, callback) => {
    const peer = { host: to.host ?? to.hostname, hostname: to.hostname, protocol: to.protocol, tls };
    const opened: unknown = connect(to, (...[error, socket]) => {
      if (error !== null) {
        callback(explainConnect(error, peer), null);
        return;
      }
      const entry: Observed = { peer };
      SOCKETS.set(socket, entry);
      // Through a forward proxy the socket that was opened carries another one with TLS.
      if (opened !== socket) SOCKETS.set(opened as Socket, entry);
      socket.prependListener('error', (said: Error) => {
        entry.fault ??= explainTls(said, peer);
      });
      callback(null, socket);
    });
    lastOpened = opened;
  };
}

function explainConnect(error: Error, peer: Peer): Error {
  if (error instanceof ProxyFault) return new ConnectionFault(error.code, error.message, error.isOperatorsFault);
  const isReset = peer.protocol === 'https:' && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
  return isReset ? explainBrokenHandshake(peer) : (explainTls(error, peer) ?? error);
}
