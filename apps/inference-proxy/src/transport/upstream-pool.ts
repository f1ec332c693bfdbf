import { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { guardedLookup, type Resolver } from './address-guard.js';

export const HEADER_BYTES_MAX = 16 * 1024;

/**
 * Keep-alive sockets to one upstream, never more than `connectionsMax`. What exceeds them would queue silently inside the
 * pool, so routing admits no more calls than there are sockets. Timeouts of a reply are `postStream`'s.
 */
export function createUpstreamPool(
  upstream: Pick<Upstream, 'baseUrl' | 'connectionsMax' | 'allowPrivateNetwork' | 'timeouts'>,
  resolve?: Resolver,
): Pool {
  return new Pool(new URL(upstream.baseUrl).origin, {
    connections: upstream.connectionsMax,
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: upstream.timeouts.connectMs,
    connect: { lookup: guardedLookup(upstream.allowPrivateNetwork, resolve) },
  });
}
