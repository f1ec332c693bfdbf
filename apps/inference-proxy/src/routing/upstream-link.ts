import type { Pool } from 'undici';
import type { Upstream } from '#contracts/catalog.js';
import { AddressRefusedError, assertHostAllowed } from '../transport/address-guard.js';
import { createUpstreamPool } from '../transport/upstream-pool.js';
import { UpstreamFailure } from '../upstream-failure.js';
import { ADAPTERS } from '../upstreams/adapters.js';
import type { UpstreamAdapter } from '../upstreams/upstream-adapter.js';
import { HealthCheck } from './health-check.js';
import type { ModelRoute } from './model-route.js';

/** One upstream as this replica sees it: its sockets, how many are busy, and whether it is well for all that a check can say. */
export class UpstreamLink {
  inFlight = 0;
  /** The routes that lead here. */
  readonly routes = new Set<ModelRoute>();
  readonly adapter: UpstreamAdapter;
  readonly pool: Pool;
  /** Ends with a slash, so that an adapter's path can follow. */
  readonly basePath: string;
  /** Why its address may not be called, if so. */
  readonly refusal: AddressRefusedError | undefined;
  private readonly healthCheck: HealthCheck | undefined;

  constructor(readonly upstream: Upstream) {
    const url = new URL(upstream.baseUrl);
    this.adapter = ADAPTERS[upstream.kind];
    this.basePath = url.pathname.replace(/\/*$/, '/');
    this.pool = createUpstreamPool(upstream);
    this.refusal = refusalOf(url.hostname, upstream.allowPrivateNetwork);
    if (upstream.healthCheck && this.refusal === undefined) this.healthCheck = new HealthCheck(upstream, (why) => this.isIll(why));
  }

  get isFull(): boolean {
    return this.inFlight >= this.upstream.connectionsMax;
  }

  /** False while its health check fails. */
  get isWell(): boolean {
    return this.healthCheck?.isWell ?? true;
  }

  /**
   * Nobody answers there: no route that leads here need find out by itself. `mayBeTried` as for the breaker; `why` where no call
   * has told.
   */
  trip(mayBeTried: boolean, why?: UpstreamFailure): void {
    const now = performance.now();
    for (const route of this.routes) route.isUnreachable(now, mayBeTried, why);
  }

  /** Lets running calls finish; takes no new ones. */
  async close(): Promise<void> {
    await Promise.all([this.pool.close(), this.healthCheck?.close()]);
  }

  private isIll(why: string): void {
    this.trip(false, new UpstreamFailure('unreachable', 'model_unavailable', { detail: `health check: ${why}` }));
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
