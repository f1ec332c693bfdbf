import type { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { renderPath, renderQuery } from '#contracts/upstream-request.js';
import { AddressRefusedError, assertHostAllowed } from '#network/address-guard.js';
import { sendsSecrets } from '../transport/api-key.js';
import { type HeaderReader, headerReader } from '../transport/static-headers.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';
import { ADAPTERS } from '../upstreams/adapters.js';
import type { UpstreamAdapter } from '../upstreams/upstream-adapter.js';

/** Address, adapter and sockets of one catalog entry of an upstream. Immutable, so that a call ends by the entry it began with. */
export class UpstreamClient {
  readonly adapter: UpstreamAdapter;
  readonly pool: Pool;
  /** Ends with a slash, so that an adapter's path can follow. */
  readonly basePath: string;
  /** Query of calls, with its question mark; empty without one. */
  readonly query: string;
  /** Reads the headers that the catalog adds to calls. */
  readonly headers: HeaderReader;
  readonly serverAddress: string;
  readonly serverPort: number;
  /** Set when the upstream's address may not be called. */
  readonly addressError: AddressRefusedError | undefined;
  isClosed = false;

  /** `before` is the client it replaces. Its sockets are kept when the new entry would open the same ones. */
  constructor(
    readonly upstream: Upstream,
    before?: UpstreamClient,
  ) {
    const url = new URL(upstream.baseUrl);
    this.adapter = ADAPTERS[upstream.kind];
    this.serverAddress = url.hostname;
    this.serverPort = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    this.basePath = url.pathname.replace(/\/*$/, '/');
    this.query = renderQuery(upstream.query);
    this.headers = headerReader(upstream);
    const takesOver = before !== undefined && !before.isClosed && describeSockets(before.upstream) === describeSockets(upstream);
    this.pool = takesOver ? before.pool : createUpstreamPool(upstream);
    this.addressError = checkAddress(url.hostname, upstream.allowPrivateNetwork);
  }

  /** Returns the path of calls for one model; null when its name would lead out of it, and undefined for that of the dialect. */
  findPath(model: string): string | null | undefined {
    const { path } = this.upstream;
    if (path == null) return undefined;
    const rendered = renderPath(path, model);
    return rendered === undefined ? null : this.basePath + rendered;
  }

  /** True when both lead to the same server by the same key, so that what calls have shown about one holds for the other. */
  isSameServer({ upstream }: UpstreamClient): boolean {
    return describeServer(this.upstream) === describeServer(upstream);
  }

  /** Lets running calls finish and takes no new ones. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.pool.close();
  }
}

/** Everything that decides what `createUpstreamPool` opens. */
function describeSockets(upstream: Upstream): string {
  const { baseUrl, connectionsMax, allowPrivateNetwork, timeouts, tls, proxy } = upstream;
  const way = proxy == null ? null : [proxy, sendsSecrets(upstream)];
  return JSON.stringify([new URL(baseUrl).origin, connectionsMax, allowPrivateNetwork, timeouts.connectMs, tls ?? null, way]);
}

function describeServer({ kind, baseUrl, allowPrivateNetwork, apiKeyEnv, apiKeyFile, tls, proxy, path, query, headers }: Upstream): string {
  const place = [kind, baseUrl, allowPrivateNetwork, path ?? null, query ?? null];
  return JSON.stringify([...place, apiKeyEnv, apiKeyFile ?? null, headers ?? null, tls ?? null, proxy ?? null]);
}

function checkAddress(hostname: string, allowPrivateNetwork: boolean): AddressRefusedError | undefined {
  try {
    assertHostAllowed(hostname, allowPrivateNetwork);
    return undefined;
  } catch (error) {
    if (error instanceof AddressRefusedError) return error;
    throw error;
  }
}
