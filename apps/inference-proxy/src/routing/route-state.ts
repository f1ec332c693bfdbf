import type { Route, UpstreamCapabilities } from '#contracts/catalog.js';
import { FairShares } from '#messaging/fair-shares.js';
import { computeCost, type Price } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import { type FailureKind, UpstreamFailure } from '../failures/upstream-failure.js';
import type { CallEnd, RouteMetrics } from '../metrics/route-metrics.js';
import type { Oddity } from '../upstreams/upstream-adapter.js';
import {
  type Breaker,
  type BreakerOptions,
  callFailed,
  callInconclusive,
  callStarted,
  callSucceeded,
  NEW_BREAKER,
  remainingCooldownMs,
} from './breaker.js';
import type { RouteView } from './choose-route.js';
import { PeakLatency } from './peak-latency.js';
import { hashText } from './prompt-prefix.js';
import { RouteStatistics } from './route-statistics.js';
import type { UpstreamClient } from './upstream-client.js';
import type { UpstreamState } from './upstream-state.js';

export interface RouteOptions extends BreakerOptions {
  /** Longest `Retry-After` of an upstream that is honoured. */
  retryAfterMaxMs: number;
}

export interface RouteObserver {
  circuitChanged(route: RouteState): void;
  /** The upstream asked not to be called for `ms`. */
  retryAfter(route: RouteState, ms: number): void;
  /** There may be room for another call. */
  callEnded(): void;
}

/** One route (a model's name at an upstream) as this replica knows it. Times are those of `performance.now()`. */
export class RouteState {
  /** The client for the next call. Calls in flight keep the one that they began with. */
  client: UpstreamClient;
  /** Capabilities for the next call: those of the upstream, except what the route says. */
  capabilities: UpstreamCapabilities;
  /** See `UpstreamClient.findPath`. */
  path: string | null | undefined;
  /** Cost price of the calls that end from now on. Undefined: not known. */
  private cost: Price | undefined;
  breaker: Breaker = NEW_BREAKER;
  readonly statistics = new RouteStatistics();
  private readonly hash: number;
  private readonly calls = new FairShares();
  private readonly latency = new PeakLatency();
  /** Streams without content, oldest first. */
  private readonly waiting = new Set<RouteCall>();
  /** The upstream asked not to be called before `until`. */
  private retryAfter = { until: Number.NEGATIVE_INFINITY, isAtCapacity: false };

  constructor(
    readonly upstream: UpstreamState,
    public definition: Route,
    private metrics: RouteMetrics,
    private readonly options: RouteOptions,
    private readonly observer: RouteObserver,
    /** Returns this replica's places of a limit of all replicas. */
    private readonly countPlaces: (limit: number) => number = (limit) => limit,
  ) {
    this.client = upstream.client;
    this.capabilities = mergeCapabilities(upstream.client, definition);
    this.path = upstream.client.findPath(definition.model);
    this.cost = readCost(definition, metrics);
    this.hash = hashText(`${definition.upstream}\n${definition.model}`);
  }

  get inFlight(): number {
    return this.calls.inUse;
  }

  /** False when the model cannot be made to call a tool there. */
  get takesForcedCall(): boolean {
    return (this.capabilities.toolChoice ?? 'forced') === 'forced';
  }

  /** Calls that this replica may have: its share of the route's `concurrencyMax`. Null: no limit. */
  get concurrencyMax(): number | null {
    const { concurrencyMax } = this.definition;
    return concurrencyMax == null ? null : this.countPlaces(concurrencyMax);
  }

  /**
   * Takes the present entries of the route and its upstream. Returns true when they lead to another server, or there by another key or
   * other TLS settings. Then resets the breaker, `Retry-After` and the latency, but not the statistics.
   */
  redefine(definition: Route, metrics: RouteMetrics): boolean {
    const { client } = this.upstream;
    const isSame = client.isSameServer(this.client);
    this.client = client;
    this.capabilities = mergeCapabilities(client, definition);
    this.path = client.findPath(definition.model);
    this.definition = definition;
    this.metrics = metrics;
    this.cost = readCost(definition, metrics);
    if (isSame) return false;
    this.breaker = { ...NEW_BREAKER, since: performance.now() };
    this.retryAfter.until = Number.NEGATIVE_INFINITY;
    this.latency.forget();
    this.waiting.clear();
    return true;
  }

  /**
   * Returns the route as an account sees it; undefined when it may not be called at all. A retry does not choose a route because it is
   * due a probe: a request that has failed once should not fail on a probe. In panic mode a retry may still be the probe.
   */
  view(accountId: string, isRetry: boolean, now: number): RouteView | undefined {
    const { weight, priority } = this.definition;
    if (weight <= 0 || now < this.retryAfter.until) return undefined;
    const isAvoided = (isRetry && this.breaker.state !== 'closed') || !this.upstream.isAuthorized;
    const circuit = isAvoided ? 'open' : this.circuit(now);
    if (circuit === 'open' && this.breaker.state !== 'closed' && this.breaker.isSlow) return undefined;
    return {
      hash: this.hash,
      priority,
      weight,
      inFlight: this.inFlight,
      latencyMs: this.latency.readMs(now),
      waitingMs: this.waitingMs(now),
      circuit,
      hasRoom: this.hasRoom(accountId),
    };
  }

  private circuit(now: number): RouteView['circuit'] {
    if (!this.upstream.isHealthy) return 'open';
    if (this.breaker.state === 'closed') return 'closed';
    return remainingCooldownMs(this.breaker, now) > 0 ? 'open' : 'probe-due';
  }

  /** True while the account may begin another call, by the caps of the upstream and of the route. */
  hasRoom(accountId: string): boolean {
    const { concurrencyMax } = this;
    return this.upstream.hasRoom(accountId) && (concurrencyMax === null || this.calls.admits(accountId, concurrencyMax));
  }

  /**
   * Returns the circuit as operators see it: open as well while `Retry-After` or the health check keeps calls away, half-open while a
   * probe is due or in flight.
   */
  circuitState(now: number): Breaker['state'] {
    if (now < this.retryAfter.until) return 'open';
    if (this.breaker.state === 'half-open' && this.upstream.isHealthy) return 'half-open';
    const circuit = this.circuit(now);
    return circuit === 'probe-due' ? 'half-open' : circuit;
  }

  /** Milliseconds until the upstream may be called: `Retry-After`, cooldown and health check. */
  cooldownMs(now: number): number {
    const healthMs = this.upstream.isHealthy ? 0 : (this.client.upstream.healthCheck?.intervalMs ?? 0);
    return Math.max(this.retryAfter.until - now, remainingCooldownMs(this.breaker, now), healthMs);
  }

  /** True while the upstream, because it is at capacity, has asked not to be called. */
  isAtCapacity(now: number): boolean {
    return this.retryAfter.isAtCapacity && now < this.retryAfter.until;
  }

  begin(accountId: string, isStream: boolean, now: number): RouteCall {
    this.update(callStarted(this.breaker, now, this.options));
    this.calls.add(accountId, 1);
    this.upstream.calls.add(accountId, 1);
    const { client, metrics } = this;
    metrics.inFlight += 1;
    const call = new RouteCall(this, client, metrics, accountId, now, isStream);
    if (isStream) this.waiting.add(call);
    return call;
  }

  onContent(call: RouteCall, now: number): void {
    this.waiting.delete(call);
    if (call.startedAt < this.breaker.since) return;
    if (call.isStream) this.latency.observe(now - call.startedAt, now);
    this.update(callSucceeded(this.breaker, now));
  }

  ended(call: RouteCall, end: CallEnd, now: number): void {
    this.waiting.delete(call);
    this.calls.add(call.accountId, -1);
    this.upstream.calls.add(call.accountId, -1);
    call.metrics.inFlight -= 1;
    this.learn(call, end, now);
    if (end.failure?.kind === 'credential') {
      // The upstream was not asked: its numbers stay its own.
      this.observer.callEnded();
      return;
    }
    const { startedAt, firstContentAt, isStream, laterChunks, traceId } = call;
    const firstContentMs = firstContentAt === undefined ? undefined : firstContentAt - startedAt;
    const ended = { ...end, isStream, durationMs: now - startedAt, firstContentMs, laterChunks, traceId };
    this.statistics.ended(ended);
    call.metrics.ended(ended);
    if (this.cost !== undefined && end.usage !== undefined) call.metrics.paid(computeCost(end.usage, this.cost));
    this.observer.callEnded();
  }

  /** A call that began before the circuit last opened or closed says nothing about the upstream as it is now. */
  private learn({ startedAt, firstContentAt, isStream }: RouteCall, { outcome, failure }: CallEnd, now: number): void {
    const durationMs = now - startedAt;
    const hadContent = firstContentAt !== undefined;
    const isAbandoned = failure === undefined && outcome !== 'completed' && !hadContent;
    const counted = isAbandoned && isStream && durationMs > this.options.slowStartMs ? abandoned(durationMs) : failure;
    if (counted !== undefined) this.statistics.setLastFailure(counted, now);
    if (startedAt < this.breaker.since) return;
    if (counted?.kind === 'slow' || (counted?.kind === 'timeout' && isStream && !hadContent)) this.latency.observe(durationMs, now);
    if (counted?.retryAfterSeconds !== undefined) this.honourRetryAfter(counted, counted.retryAfterSeconds, now);
    const verdict = counted === undefined ? (isAbandoned ? 'none' : 'healthy') : verdictOn(counted);
    // Clients differ in patience: an abandoned call is no reason to set `isSlow`, so that panic mode still serves clients that wait longer.
    if (verdict === 'failing') this.update(callFailed(this.breaker, failure?.kind === 'timeout', now, this.options));
    else if (verdict === 'none') this.update(callInconclusive(this.breaker, now));
    else if (!hadContent) this.update(callSucceeded(this.breaker, now));
  }

  private honourRetryAfter({ code }: UpstreamFailure, seconds: number, now: number): void {
    const ms = Math.min(seconds * 1_000, this.options.retryAfterMaxMs);
    if (now >= this.retryAfter.until) this.observer.retryAfter(this, ms);
    this.retryAfter = { until: Math.max(this.retryAfter.until, now + ms), isAtCapacity: code === 'model_capacity' };
  }

  private waitingMs(now: number): number {
    for (const call of this.waiting) return now - call.startedAt;
    return 0;
  }

  private update(next: Breaker): void {
    const { state } = this.breaker;
    this.breaker = next;
    if (next.state === state) return;
    if (next.state === 'closed') this.waiting.clear();
    this.observer.circuitChanged(this);
  }
}

/** Shows the cost of a route with a cost price from 0 on: an alert on an increase misses a counter that first appears later. */
function readCost({ cost }: Route, metrics: RouteMetrics): Price | undefined {
  if (cost == null) return undefined;
  metrics.paid(0n);
  return parsePrice(cost);
}

function mergeCapabilities({ upstream }: UpstreamClient, { capabilities }: Route): UpstreamCapabilities {
  return capabilities ? { ...upstream.capabilities, ...capabilities } : upstream.capabilities;
}

/** One call on a route. */
export class RouteCall {
  /** Moment of the head of the reply. */
  answeredAt: number | undefined;
  firstContentAt: number | undefined;
  /** Chunks after the one with the first content. A chunk is what one read of the upstream's socket brings. */
  laterChunks = 0;
  /** Milliseconds that the request waited for this call in the admission queue. */
  queueMs = 0;
  /** Trace context for the upstream, if it shall get one. */
  traceparent: string | undefined;
  /** Trace of the call, if it is sampled. */
  traceId: string | undefined;
  /** Oddities of the reply, one of each kind. */
  /** The capabilities and the path that the call began with. */
  readonly capabilities: UpstreamCapabilities;
  readonly path: string | null | undefined;
  readonly oddities = new Map<Oddity['kind'], Oddity>();
  /** Records the id and model of the reply, while traces are exported. */
  onReply: ((reply: Record<string, unknown>) => void) | undefined;

  constructor(
    readonly route: RouteState,
    /** The client that the call began with. */
    readonly client: UpstreamClient,
    readonly metrics: RouteMetrics,
    readonly accountId: string,
    readonly startedAt: number,
    readonly isStream: boolean,
  ) {
    this.capabilities = route.capabilities;
    this.path = route.path;
  }

  /** The model's name at the upstream. */
  get model(): string {
    return this.route.definition.model;
  }

  onAnswer(): void {
    this.answeredAt = performance.now();
  }

  readonly onOddity = (oddity: Oddity): void => {
    if (this.oddities.has(oddity.kind)) return;
    this.oddities.set(oddity.kind, oddity);
    this.metrics.odd(oddity.kind);
  };

  /** Call on every content event; only the first is recorded. */
  onContent(): void {
    if (this.firstContentAt !== undefined) return;
    this.firstContentAt = performance.now();
    this.route.onContent(this, this.firstContentAt);
  }

  /** Gives the route back. Call exactly once. */
  end(end: CallEnd): void {
    this.route.ended(this, end, performance.now());
  }
}

function abandoned(waitedMs: number): UpstreamFailure {
  return new UpstreamFailure('timeout', 'upstream_timeout', {
    detail: `no content after ${Math.round(waitedMs / 1_000)} s, when the client disconnected`,
  });
}

function verdictOn({ kind, code }: UpstreamFailure): 'failing' | 'healthy' | 'none' {
  if (kind === 'limit' && code !== 'upstream_error') return 'none'; // the limit was this replica's
  return code === 'invalid_request' ? 'none' : VERDICTS[kind]; // the fault may be the client's or the catalog's
}

/** Verdict on the upstream by the kind of failure. */
const VERDICTS = {
  unreachable: 'failing',
  unanswered: 'failing',
  refused: 'failing',
  denied: 'failing',
  timeout: 'failing',
  broken: 'failing',
  limit: 'failing',
  rejected: 'healthy', // it has read the request
  empty: 'healthy',
  credential: 'none', // nothing was sent
  stale: 'none', // an idle connection had been closed
  slow: 'none', // the reply may have been long
} satisfies Record<FailureKind, 'failing' | 'healthy' | 'none'>;
