import type { Upstream } from '#contracts/catalog.js';
import { FairShares } from '#messaging/fair-shares.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import { HealthCheck } from './health-check.js';
import { UpstreamClient } from './upstream-client.js';

/** One upstream as this replica knows it, across changes of its entry in the catalog. */
export class UpstreamState {
  /** Calls in flight, by this entry and by earlier ones. */
  readonly calls = new FairShares();
  /** The client for the next call. */
  client: UpstreamClient;
  private healthCheck: HealthCheck | undefined;

  constructor(
    upstream: Upstream,
    /** Called when the health check begins to fail, with the reason, and when it passes again. */
    private readonly onHealth: (upstream: UpstreamState, failure: string | undefined) => void,
    /** Called when there is no credential for calls, with the reason, and when there is one again. */
    private readonly onCredential: (upstream: UpstreamState, failure: UpstreamFailure | undefined) => void = () => {},
  ) {
    this.client = this.openClient(upstream);
    this.healthCheck = this.startCheck();
  }

  /** False while the health check fails. */
  get isHealthy(): boolean {
    return this.healthCheck?.isHealthy ?? true;
  }

  /** False while calls would fail because a token is missing. */
  get isAuthorized(): boolean {
    return this.client.credential?.isUsable ?? true;
  }

  /** True while the account may begin another call: neither `connectionsMax` nor the account's fair share is used up. */
  hasRoom(accountId: string): boolean {
    return this.calls.admits(accountId, this.client.upstream.connectionsMax);
  }

  /** Takes another entry, or one after `close`. Calls in flight keep the client that they began with. */
  redefine(upstream: Upstream): void {
    const before = this.client;
    if (!before.isClosed && JSON.stringify(before.upstream) === JSON.stringify(upstream)) return;
    this.client = this.openClient(upstream, before);
    if (this.client.pool !== before.pool) void before.close();
    if (this.client.credential !== before.credential) before.credential?.close();
    void this.healthCheck?.close();
    this.healthCheck = this.startCheck();
  }

  /** Lets running calls finish. New ones need `redefine`. */
  async close(): Promise<void> {
    const check = this.healthCheck;
    this.healthCheck = undefined;
    this.client.credential?.close();
    await Promise.all([this.client.close(), check?.close()]);
  }

  private openClient(upstream: Upstream, before?: UpstreamClient): UpstreamClient {
    const client = new UpstreamClient(upstream, before, (failure) => this.onCredential(this, failure));
    if (client.credential !== before?.credential) client.credential?.start();
    return client;
  }

  private startCheck(): HealthCheck | undefined {
    const { upstream, headers, addressError } = this.client;
    if (!upstream.healthCheck || addressError !== undefined) return undefined;
    return new HealthCheck(upstream, headers, upstream.healthCheck, (failure) => this.onHealth(this, failure));
  }
}
