import type { Route } from '#contracts/catalog.js';
import { FairShares } from '#messaging/fair-shares.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import {
  type Breaker,
  type BreakerEvent,
  type BreakerOptions,
  callableAt,
  lastResortAt,
  NEW_BREAKER,
  reduce,
  type TripTerms,
  trafficShare,
} from './breaker.js';
import type { Availability, Choosable } from './choose-route.js';
import { PeakLatency } from './peak-latency.js';
import { hashOf } from './prompt-prefix.js';
import { type CallEnd, RouteCall } from './route-call.js';
import type { RouteEntry, RouteObserver } from './route-entry.js';
import { RouteStatistics } from './route-statistics.js';
import type { UpstreamClient } from './upstream-client.js';
import type { UpstreamState } from './upstream-state.js';

/** A call that fails within this time has not cost its client much. */
const QUICK_MS = 1_000;
/**
 * A stream that its client has left counts as failed when it had brought nothing for so long, and for so many times what is usual on its
 * route. Both, because clients differ: some leave after 20 s, and must not take a model for ill that thinks for a minute; and where all
 * answers are quick, a single long prompt may take many times as long. Of a route that has never answered nothing is usual: there only
 * its own timeout counts.
 */
const LEFT_MS_MIN = 10_000;
const LEFT_USUALS_MIN = 5;
/** Those that leave within this time count once: they may all be one client's, who has stopped a batch. */
const LEFT_GAP_MS = 1_000;

/** A way to a model: an upstream, and the model's name there. Taken for one call with `begin`. */
export class RouteState implements Choosable {
  breaker: Breaker = NEW_BREAKER;
  readonly hash: number;
  readonly statistics = new RouteStatistics();
  private readonly calls = new FairShares();
  private readonly latency = new PeakLatency();
  /** Of calls whose clients have left, since the last content: how long they have waited for it. */
  private readonly unanswered = new PeakLatency();
  /** When one of them last counted as failed. */
  private leftAt = Number.NEGATIVE_INFINITY;
  /** Calls of earlier ones went elsewhere, as somebody else, or to an upstream that was ill: what they took says nothing any more. */
  private firstEpoch = 0;
  /** That of the trip which the upstream's health check made. */
  private failedCheckEpoch: number | undefined;
  /** Streams without content yet, oldest first. */
  private readonly waiting = new Set<RouteCall>();

  constructor(
    readonly upstream: UpstreamState,
    private entry: RouteEntry,
    private readonly terms: BreakerOptions,
    private readonly observer: RouteObserver,
  ) {
    const { upstream: id, model } = entry.route;
    this.hash = hashOf(`${id}\n${model}`);
  }

  /** The model's name at the upstream. */
  get model(): string {
    return this.entry.route.model;
  }

  get priority(): number {
    return this.entry.route.priority;
  }

  get definition(): Route {
    return this.entry.route;
  }

  /** What the next call goes by. */
  get client(): UpstreamClient {
    return this.entry.client;
  }

  /**
   * Another weight, tier, cap or entry of its upstream; what is known of the route stays. Only where another server is called now, or
   * as somebody else, does its health begin anew, since nobody wants to wait for a rest that an upstream has been mended of. True then.
   */
  redefine(entry: RouteEntry): boolean {
    const isLike = entry.client.isLike(this.entry.client);
    this.entry = entry;
    if (!isLike) this.beginAnew();
    return !isLike;
  }

  get inFlight(): number {
    return this.calls.inUse;
  }

  get isFull(): boolean {
    const { concurrencyMax } = this.definition;
    return this.upstream.isFull || (concurrencyMax != null && this.inFlight >= concurrencyMax);
  }

  /** True while the account may begin another call: it has not used up its share of the upstream's connections or of the route's cap. */
  hasRoomFor(accountId: string): boolean {
    const { concurrencyMax } = this.definition;
    return this.upstream.hasRoomFor(accountId) && (concurrencyMax == null || this.calls.admits(accountId, concurrencyMax));
  }

  /** Until it may be called again; not above 0 when it may. */
  restMs(now: number): number {
    return this.upstream.isWell ? callableAt(this.breaker) - now : (this.client.upstream.healthCheck?.intervalMs ?? 0);
  }

  /** Until it may be called for want of another route; not above 0 when it may. */
  lastResortMs(now: number): number {
    return this.upstream.isWell ? lastResortAt(this.breaker, this.terms) - now : this.restMs(now);
  }

  /** It has rested for as long as its upstream asked, and a call is finding out whether that was enough. */
  get isTriedAgain(): boolean {
    return this.breaker.state === 'half-open' && this.breaker.isBusy && this.upstream.isWell;
  }

  /** Since when nothing has come of it; undefined when it does not rest, or when it is no use to call it before it has rested. */
  get hopesSince(): number | undefined {
    const { breaker } = this;
    return breaker.state !== 'closed' && breaker.mayBeTried && this.upstream.isWell ? breaker.since : undefined;
  }

  availability(now: number, accountId: string): Availability {
    if (this.definition.weight <= 0 || !this.upstream.isWell || callableAt(this.breaker) > now) return 'down';
    if (this.isFull) return 'full';
    if (this.breaker.state !== 'closed') return 'probe'; // every account gains from what a probe finds, so shares do not apply
    return this.hasRoomFor(accountId) ? 'ready' : 'full';
  }

  weight(now: number): number {
    return this.definition.weight * trafficShare(this.breaker, now);
  }

  latencyMs(now: number): number | undefined {
    return this.latency.readMs(now);
  }

  get usualMs(): number | undefined {
    return this.statistics.firstContentMs;
  }

  waitingMs(now: number): number {
    const unansweredMs = this.unanswered.readMs(now) ?? 0;
    for (const call of this.waiting) return Math.max(unansweredMs, now - call.startedAt);
    return unansweredMs;
  }

  begin(accountId: string, isStream: boolean, now: number): RouteCall {
    this.happen({ type: 'call-begun' }, now);
    this.calls.add(accountId, 1);
    this.upstream.callBegins(accountId);
    const { client, metrics } = this.entry;
    metrics.inFlight += 1;
    const call = new RouteCall(this, client, metrics, accountId, this.breaker.epoch, now, isStream);
    if (isStream) this.waiting.add(call);
    return call;
  }

  isUnreachable(now: number, mayBeTried: boolean): void {
    this.happen({ type: 'unreachable', epoch: this.breaker.epoch, isBusy: false, mayBeTried }, now);
  }

  /** Its upstream's health check does. */
  failsCheck(why: UpstreamFailure, now: number): void {
    this.statistics.failed(why, now);
    const { state } = this.breaker;
    this.isUnreachable(now, false);
    if (state === 'closed') this.failedCheckEpoch = this.breaker.epoch;
  }

  /** Undoes what the check has done, and not what calls have. */
  passesCheck(now: number): void {
    const { state, epoch } = this.breaker;
    if (state !== 'closed' && epoch === this.failedCheckEpoch) this.happen({ type: 'call-succeeded', epoch }, now);
  }

  // ---- what its calls tell ----

  contentCame(call: RouteCall, now: number): void {
    this.waiting.delete(call);
    this.succeeded(call, now);
    if (call.isStream) this.learnLatency(call, now);
  }

  ended(call: RouteCall, end: CallEnd, now: number): void {
    this.waiting.delete(call);
    this.calls.add(call.accountId, -1);
    this.upstream.callEnds(call.accountId);
    call.metrics.inFlight -= 1;
    if (end.failure !== undefined) this.failed(call, end.failure, now);
    else if (call.firstContentAt === undefined) this.endedWithoutContent(call, end.outcome === 'completed', now);
    const { startedAt, firstContentAt, isStream } = call;
    const firstContentMs = firstContentAt === undefined ? undefined : firstContentAt - startedAt;
    const { outcome, failure, usage } = end;
    const ended = { outcome, failure, usage, isStream, durationMs: now - startedAt, firstContentMs };
    this.statistics.ended(ended);
    call.metrics.ended(ended);
    this.observer.callEnded();
  }

  private succeeded({ epoch }: RouteCall, now: number): void {
    this.unanswered.forget();
    this.happen({ type: 'call-succeeded', epoch }, now);
  }

  private failed(call: RouteCall, failure: UpstreamFailure, now: number): void {
    this.statistics.failed(failure, now);
    const { epoch } = call;
    const why: TripTerms = {
      isBusy: failure.code === 'model_capacity',
      mayBeTried: failure.kind !== 'denied' && now - call.startedAt < QUICK_MS,
    };
    switch (failure.kind) {
      case 'unreachable':
        if (epoch === this.breaker.epoch) this.upstream.trip(why.mayBeTried);
        return;
      case 'timeout':
        if (call.isStream && call.firstContentAt === undefined) this.learnLatency(call, now);
        this.happen({ type: 'call-failed', epoch, ...why }, now);
        return;
      case 'refused':
      case 'denied': {
        const { retryAfterSeconds } = failure;
        if (retryAfterSeconds === undefined) this.happen({ type: 'call-failed', epoch, ...why }, now);
        else this.happen({ type: 'told-to-wait', epoch, isBusy: why.isBusy, forMs: retryAfterSeconds * 1_000 }, now);
        return;
      }
      case 'unanswered':
      case 'broken':
        this.happen({ type: 'call-failed', epoch, ...why }, now);
        return;
      case 'limit': // else it is ours
        if (failure.code === 'upstream_error') this.happen({ type: 'call-failed', epoch, ...why }, now);
        else this.happen({ type: 'call-withdrawn', epoch }, now);
        return;
      case 'stale':
        this.happen({ type: 'call-withdrawn', epoch }, now);
        return;
      case 'rejected': // it read the request and judged it: it is well
      case 'empty':
        this.succeeded(call, now);
        return;
    }
  }

  private endedWithoutContent(call: RouteCall, isComplete: boolean, now: number): void {
    const { epoch, isStream } = call;
    if (isComplete) this.succeeded(call, now);
    else if (isStream) this.wasLeft(call, now);
    else if (now - call.startedAt < QUICK_MS) this.happen({ type: 'call-withdrawn', epoch }, now);
  }

  /** A stream, by its client. Whether the upstream would have answered nobody knows; but it has not for so long. */
  private wasLeft({ epoch, startedAt }: RouteCall, now: number): void {
    if (epoch < this.firstEpoch) return;
    const { usualMs } = this;
    const waitedMs = now - startedAt;
    this.unanswered.addUnanswered(waitedMs, now);
    if (waitedMs < (usualMs ?? QUICK_MS)) this.happen({ type: 'call-withdrawn', epoch }, now);
    if (usualMs === undefined || waitedMs < Math.max(LEFT_MS_MIN, LEFT_USUALS_MIN * usualMs) || now - this.leftAt < LEFT_GAP_MS) return;
    this.leftAt = now;
    const detail = `no content for ${Math.round(waitedMs / 1_000)} s, until the client left`;
    this.statistics.failed(new UpstreamFailure('timeout', 'upstream_timeout', { detail }), now);
    this.happen({ type: 'call-failed', epoch, isBusy: false, mayBeTried: false }, now);
  }

  private learnLatency({ epoch, startedAt }: RouteCall, now: number): void {
    if (epoch >= this.firstEpoch) this.latency.observe(now - startedAt, now);
  }

  private beginAnew(): void {
    this.breaker = { ...NEW_BREAKER, epoch: this.breaker.epoch + 1 };
    this.forgetTimes();
  }

  /** Of all calls until now, those under way included. */
  private forgetTimes(): void {
    this.firstEpoch = this.breaker.epoch;
    this.latency.forget();
    this.unanswered.forget();
    this.waiting.clear();
  }

  private happen(event: BreakerEvent, now: number): void {
    const before = this.breaker.state;
    this.breaker = reduce(this.breaker, event, now, this.terms);
    if (this.breaker.state === before) return;
    if (this.breaker.state === 'closed') this.forgetTimes();
    this.observer.breakerMoved(this);
  }
}
