import type { Upstream } from '#contracts/catalog.js';
import { FairShares } from '#messaging/fair-shares.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { UpstreamReply } from '../transport/post-stream.js';
import { HealthCheck } from './health-check.js';
import type { RouteState } from './route-state.js';
import { UpstreamClient } from './upstream-client.js';

type LingeringReply = Pick<UpstreamReply, 'setDeadline'>;

/** What a reply that has said all has left to end, once its socket is wanted: far more than its last bytes need, and no client notices. */
const LINGER_MS = 20;

/**
 * One upstream as this replica sees it, whatever becomes of its entry: how it is called now, how many calls are under way, by this
 * entry and by earlier ones, and whether it is well for all that a check can say.
 */
export class UpstreamState {
  /** The routes of the catalog that lead here. */
  readonly routes = new Set<RouteState>();
  private readonly calls = new FairShares();
  /** Replies that have said all and keep their sockets all the same, oldest first. */
  private readonly lingering = new Set<LingeringReply>();
  private current: UpstreamClient;
  private healthCheck: HealthCheck | undefined;
  /** Kept apart from the check, which is replaced when its terms change. */
  private isIll = false;

  constructor(upstream: Upstream) {
    this.current = new UpstreamClient(upstream);
    this.startCheck();
  }

  get client(): UpstreamClient {
    return this.current;
  }

  get inFlight(): number {
    return this.calls.inUse;
  }

  get isFull(): boolean {
    return this.inFlight >= this.current.upstream.connectionsMax;
  }

  /** True while the account may open another connection: it has not used up its share of them. */
  hasRoomFor(accountId: string): boolean {
    return this.calls.admits(accountId, this.current.upstream.connectionsMax);
  }

  /** False while its health check fails. */
  get isWell(): boolean {
    return !this.isIll;
  }

  /** One more call: should it find no socket, it would wait for one that nobody sees. */
  callBegins(accountId: string): void {
    this.calls.add(accountId, 1);
    let missing = this.inFlight + this.lingering.size - this.current.upstream.connectionsMax;
    for (const reply of this.lingering) {
      if (missing-- <= 0) return;
      this.lingering.delete(reply);
      reply.setDeadline(LINGER_MS);
    }
  }

  callEnds(accountId: string): void {
    this.calls.add(accountId, -1);
  }

  /** As `CallTarget` has it. */
  lingers(reply: LingeringReply, isOver: Promise<void>): void {
    this.lingering.add(reply);
    void isOver.then(() => this.lingering.delete(reply));
  }

  /** Another entry, or one again after `close`. Calls under way end by the one they began with. */
  redefine(upstream: Upstream): void {
    const before = this.current;
    if (!before.isClosed && JSON.stringify(before.upstream) === JSON.stringify(upstream)) return;
    this.current = new UpstreamClient(upstream, before);
    if (this.current.pool !== before.pool) void before.close();
    const isLike = this.current.isLike(before);
    const asksTheSame = JSON.stringify(before.upstream.healthCheck) === JSON.stringify(upstream.healthCheck);
    if (isLike && asksTheSame && this.healthCheck !== undefined) return;
    if (!isLike || !upstream.healthCheck) this.isIll = false;
    void this.healthCheck?.close();
    this.startCheck();
  }

  /** Nobody answers there: no route that leads here need find out by itself. `mayBeTried` as for the breaker. */
  trip(mayBeTried: boolean): void {
    const now = performance.now();
    for (const route of this.routes) route.isUnreachable(now, mayBeTried);
  }

  /** Lets running calls finish; takes no new ones until it is defined again. */
  async close(): Promise<void> {
    const check = this.healthCheck;
    this.healthCheck = undefined;
    this.isIll = false;
    await Promise.all([this.current.close(), check?.close()]);
  }

  private startCheck(): void {
    const { upstream, refusal } = this.current;
    const observer = { isIll: (why: string) => this.failsCheck(why), isWellAgain: () => this.passesCheck() };
    this.healthCheck = upstream.healthCheck && refusal === undefined ? new HealthCheck(upstream, observer, this.isIll) : undefined;
  }

  private failsCheck(why: string): void {
    this.isIll = true;
    const failure = new UpstreamFailure('unreachable', 'model_unavailable', { detail: `health check: ${why}` });
    const now = performance.now();
    for (const route of this.routes) route.failsCheck(failure, now);
  }

  private passesCheck(): void {
    this.isIll = false;
    const now = performance.now();
    for (const route of this.routes) route.passesCheck(now);
  }
}
