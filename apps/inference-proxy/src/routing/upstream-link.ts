import type { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { AddressRefusedError, assertHostAllowed } from '../transport/address-guard.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';
import { ADAPTERS } from '../upstreams/adapters.js';
import type { UpstreamAdapter } from '../upstreams/upstream-adapter.js';

/** One upstream as this replica sees it: its sockets, how many are busy, and whether it was reachable a moment ago. */
export class UpstreamLink {
  inFlight = 0;
  readonly adapter: UpstreamAdapter;
  readonly pool: Pool;
  /** Ends with a slash, so that an adapter's path can follow. */
  readonly basePath: string;
  /** Why its address may not be called, if so. */
  readonly refusal: AddressRefusedError | undefined;
  private coolingUntil = 0;

  constructor(
    readonly upstream: Upstream,
    private readonly cooldownMs: number,
  ) {
    const url = new URL(upstream.baseUrl);
    this.adapter = ADAPTERS[upstream.kind];
    this.basePath = url.pathname.replace(/\/*$/, '/');
    this.pool = createUpstreamPool(upstream);
    this.refusal = refusalOf(url.hostname, upstream.allowPrivateNetwork);
  }

  get isFull(): boolean {
    return this.inFlight >= this.upstream.connectionsMax;
  }

  /** Whether it is worth a try: it was not unreachable just now. */
  isUp(now: number): boolean {
    return now >= this.coolingUntil;
  }

  markUnreachable(now: number): void {
    this.coolingUntil = now + this.cooldownMs;
  }

  /** Lets running calls finish; takes no new ones. */
  async close(): Promise<void> {
    await this.pool.close();
  }
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
