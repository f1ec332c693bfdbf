import type { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { renderPath, renderQuery } from '#contracts/upstream-request.js';
import { AddressRefusedError, assertHostAllowed } from '#network/address-guard.js';
import type { Credential, CredentialObserver } from '../credentials/credential.js';
import { openCredential } from '../credentials/open-credential.js';
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
  /** Authorizes calls; undefined for an upstream with a fixed key, or none. */
  readonly credential: Credential | undefined;
  readonly serverAddress: string;
  readonly serverPort: number;
  /** Set when the upstream's address may not be called. */
  readonly addressError: AddressRefusedError | undefined;
  isClosed = false;

  /** `before` is the client it replaces. Its sockets and its token are kept when the new entry would open or ask for the same ones. */
  constructor(
    readonly upstream: Upstream,
    before?: UpstreamClient,
    onCredential: CredentialObserver = () => {},
  ) {
    const url = new URL(upstream.baseUrl);
    this.adapter = ADAPTERS[upstream.kind];
    this.serverAddress = url.hostname;
    this.serverPort = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
    this.basePath = url.pathname.replace(/\/*$/, '/');
    this.query = renderQuery(upstream.query);
    this.headers = headerReader(upstream);
    const isSame = (describe: (entry: Upstream) => string): boolean =>
      before !== undefined && !before.isClosed && describe(before.upstream) === describe(upstream);
    this.credential = isSame(describeCredential) ? before?.credential : openCredential(upstream, onCredential);
    this.pool = before !== undefined && isSame(describeSockets) ? before.pool : createUpstreamPool(upstream);
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

/** Everything that decides what token is asked for, and by which way. */
function describeCredential({ auth, baseUrl, allowPrivateNetwork, timeouts, proxy }: Upstream): string {
  const { connectMs, firstByteMs } = timeouts;
  return JSON.stringify([auth ?? null, baseUrl, allowPrivateNetwork, connectMs, firstByteMs, proxy ?? null]);
}

function describeServer({ kind, baseUrl, allowPrivateNetwork, apiKeyEnv, apiKeyFile, tls, proxy, ...upstream }: Upstream): string {
  const { auth = null, path = null, query = null, headers = null, body = null } = upstream;
  const place = [kind, baseUrl, allowPrivateNetwork, path, query, body];
  return JSON.stringify([...place, apiKeyEnv, apiKeyFile ?? null, auth, headers, tls ?? null, proxy ?? null]);
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
