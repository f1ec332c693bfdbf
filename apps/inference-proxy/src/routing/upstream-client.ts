import type { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { AddressRefusedError, assertHostAllowed } from '../transport/address-guard.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';
import { ADAPTERS } from '../upstreams/adapters.js';
import type { UpstreamAdapter } from '../upstreams/upstream-adapter.js';

/** How an upstream is called, by one definition of it. It never changes, so that a call ends by the terms it began with. */
export class UpstreamClient {
  readonly adapter: UpstreamAdapter;
  readonly pool: Pool;
  /** Ends with a slash, so that an adapter's path can follow. */
  readonly basePath: string;
  /** Why its address may not be called, if so. */
  readonly refusal: AddressRefusedError | undefined;
  private hasClosed = false;

  /** `before`: the one it replaces, whose sockets it takes over where it would open the same. */
  constructor(
    readonly upstream: Upstream,
    before?: UpstreamClient,
  ) {
    const url = new URL(upstream.baseUrl);
    this.adapter = ADAPTERS[upstream.kind];
    this.basePath = url.pathname.replace(/\/*$/, '/');
    const takesOver = before !== undefined && !before.isClosed && socketsOf(before.upstream) === socketsOf(upstream);
    this.pool = takesOver ? before.pool : createUpstreamPool(upstream);
    this.refusal = refusalOf(url.hostname, upstream.allowPrivateNetwork);
  }

  get isClosed(): boolean {
    return this.hasClosed;
  }

  /** Whether both lead to the same server, which knows us as the same: what calls of one have shown holds for the other. */
  isLike({ upstream }: UpstreamClient): boolean {
    return whoIsCalled(this.upstream) === whoIsCalled(upstream);
  }

  /** Lets running calls finish; takes no new ones. */
  async close(): Promise<void> {
    if (this.hasClosed) return;
    this.hasClosed = true;
    await this.pool.close();
  }
}

/** All that `createUpstreamPool` goes by. */
function socketsOf({ baseUrl, connectionsMax, allowPrivateNetwork, timeouts, tls }: Upstream): string {
  return JSON.stringify([new URL(baseUrl).origin, connectionsMax, allowPrivateNetwork, timeouts.connectMs, tls ?? null]);
}

function whoIsCalled({ kind, baseUrl, allowPrivateNetwork, apiKeyEnv, apiKeyFile, tls }: Upstream): string {
  return JSON.stringify([kind, baseUrl, allowPrivateNetwork, apiKeyEnv, apiKeyFile ?? null, tls ?? null]);
}

function refusalOf(hostname: string, allowPrivateNetwork: boolean): AddressRefusedError | undefined {
  try {
    assertHostAllowed(hostname, allowPrivateNetwork);
    return undefined;
  } catch (error) {
    if (error instanceof AddressRefusedError) return error;
    throw error;
  }
}
