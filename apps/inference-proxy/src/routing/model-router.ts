import type { InferenceRequest } from '#inference/request.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { RetryOutcome, WaitOutcome } from '../metrics/proxy-metrics.js';
import { AdmissionQueue, type QueueOptions, type Turn } from './admission-queue.js';
import { chooseRoute, lastResort } from './choose-route.js';
import { prefixKey } from './prompt-prefix.js';
import { RetryBudget, type RetryOptions } from './retry-budget.js';
import type { RouteCall } from './route-call.js';
import type { RouteState } from './route-state.js';

const RETRY_AFTER_SECONDS_MAX = 60;
/** Nothing but a new catalog will help. */
const NO_ROUTES_RETRY_AFTER_SECONDS = 5;
const CALL_MS_UNKNOWN = 1_000;

export interface ModelObserver {
  /** Somebody begins to wait: from now on `serve` must be called when anything becomes free. */
  waits(model: ModelRouter): void;
  waited(outcome: WaitOutcome, ms: number): void;
  retried(outcome: RetryOutcome): void;
}

/** One request for a route, as it is tried and tried again. */
interface Asked {
  request: InferenceRequest;
  accountId: string;
  tried: ReadonlySet<RouteState>;
  isFirst: boolean;
}

/** All routes of one model: which of them gets a request, who waits for one, and how often a request may be tried again. */
export class ModelRouter {
  /** Who waits has to be served when they change. */
  routes: readonly RouteState[] = [];
  private readonly line: AdmissionQueue<RouteCall>;
  private readonly budget: RetryBudget;

  constructor(
    readonly id: string,
    private readonly terms: QueueOptions & RetryOptions,
    private readonly random: () => number,
    private readonly observer: ModelObserver,
  ) {
    this.line = new AdmissionQueue(
      terms,
      (accountId) => this.refusal(accountId, 'waited in vain'),
      () => this.nextChangeMs(performance.now()),
    );
    this.budget = new RetryBudget(terms);
  }

  get waiting(): number {
    return this.line.size;
  }

  /** When the first in the line is given up. */
  get oldestUntil(): number {
    return this.line.oldestUntil;
  }

  /**
   * A call on the best route that is not among `tried`; a promise of it while all are full, or all have just begun to rest. Throws or
   * rejects with `UpstreamFailure`: `model_unavailable` when no route is up, `model_capacity` when all are full, and there is no place in
   * the line or the wait was in vain; rejects with the signal's reason when it fires. `isFirst`: of this request. A further call is paid
   * for from the budget when it is granted; `model_unavailable` when that is empty.
   */
  acquire(
    request: InferenceRequest,
    accountId: string,
    tried: ReadonlySet<RouteState>,
    signal: AbortSignal,
    isFirst = tried.size === 0,
  ): RouteCall | Promise<RouteCall> {
    if (isFirst) this.budget.deposit();
    const asked = { request, accountId, tried, isFirst };
    const turn = this.take(asked);
    if (turn !== undefined) {
      if ('grant' in turn) return turn.grant;
      throw turn.refusal;
    }
    if (!this.line.hasRoomFor(accountId)) throw this.refusal(accountId, 'so many wait that the line is full, too');
    return this.wait(asked, signal);
  }

  /** Gives what has become free to who waits for it. */
  serve(): void {
    if (this.line.size > 0) this.line.serve();
  }

  /**
   * When it is worth while to come back, in whole seconds from 1 to 60 (H-4): when the first route may be called again, be it
   * its upstream that said so (`Retry-After`) or its breaker, or when the line will have moved on, by the usual length of a call.
   */
  retryAfterSeconds(accountId: string): number {
    if (this.routes.length === 0) return NO_ROUTES_RETRY_AFTER_SECONDS;
    const now = performance.now();
    const roomMs = (route: RouteState): number => (route.isFull || !route.hasRoomFor(accountId) ? this.drainMs(route, accountId) : 0);
    const waitMs = Math.min(...this.routes.map((route) => Math.max(route.lastResortMs(now), roomMs(route))));
    return Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil(waitMs / 1_000)));
  }

  private async wait(asked: Asked, signal: AbortSignal): Promise<RouteCall> {
    const since = performance.now();
    let outcome: WaitOutcome = 'refused';
    try {
      const turn = this.line.wait(asked.accountId, () => this.take(asked), asked.tried.size > 0, signal);
      this.observer.waits(this);
      const call = await turn;
      outcome = 'served';
      return call;
    } finally {
      this.observer.waited(outcome === 'refused' && signal.aborted ? 'left' : outcome, performance.now() - since);
    }
  }

  private take({ request, accountId, tried, isFirst }: Asked): Turn<RouteCall> {
    const now = performance.now();
    const choice = chooseRoute(this.routes, { now, accountId, prefixKey: () => prefixKey(request), random: this.random, tried });
    if (choice === 'full') return undefined;
    const route = choice === 'down' ? lastResort(this.routes, { now, tried }) : choice;
    if (route === undefined) return { refusal: this.down() };
    if (choice === 'down' && route.lastResortMs(now) > 0)
      return tried.size === 0 && this.mayPass(route, now) ? undefined : { refusal: this.down() };
    return isFirst || this.isPaid(now) ? { grant: route.begin(accountId, request.stream, now) } : { refusal: overBudget() };
  }

  private isPaid(now: number): boolean {
    const isPaid = this.budget.withdraw(now);
    this.observer.retried(isPaid ? 'made' : 'over-budget');
    return isPaid;
  }

  /**
   * So short an illness may be over before anybody has to hear of it; a longer one is told at once. What an upstream has asked for is
   * over: those who come together then need not hear that only one of them may see whether it is.
   */
  private mayPass({ hopesSince, isTriedAgain }: RouteState, now: number): boolean {
    return isTriedAgain || (hopesSince !== undefined && now - hopesSince < this.terms.queueWaitMs);
  }

  /** For those who would have waited, or have. */
  private refusal(accountId: string, detail: string): UpstreamFailure {
    const now = performance.now();
    const isFull = this.routes.some((route) => route.availability(now, accountId) === 'full');
    return isFull ? full(detail) : this.down();
  }

  private down(): UpstreamFailure {
    const isBusy = this.routes.some(({ breaker }) => breaker.state !== 'closed' && breaker.isBusy);
    if (isBusy) return new UpstreamFailure('refused', 'model_capacity', { detail: 'every route was told to wait' });
    return new UpstreamFailure('unreachable', 'model_unavailable', { detail: 'no route is up' });
  }

  /**
   * Until there is room for one more behind those who wait: calls end one after another, as many as run in the time of one. A line
   * that moves slower than that is as short once those who wait have been given up.
   */
  private drainMs({ statistics, upstream, inFlight }: RouteState, accountId: string): number {
    const running = upstream.hasRoomFor(accountId) ? inFlight : upstream.inFlight;
    const endsEveryMs = (statistics.durationMs ?? CALL_MS_UNKNOWN) / Math.max(1, running);
    return endsEveryMs + Math.min(endsEveryMs * this.line.size, this.terms.queueWaitMs);
  }

  /** Until a route has rested, or may be called although it rests. */
  private nextChangeMs(now: number): number {
    return Math.min(...this.routes.flatMap((route) => [route.restMs(now), route.lastResortMs(now)]).filter((ms) => ms > 0));
  }
}

function overBudget(): UpstreamFailure {
  return new UpstreamFailure('unreachable', 'model_unavailable', { detail: 'no second call is left in the budget' });
}

function full(detail: string): UpstreamFailure {
  return new UpstreamFailure('refused', 'model_capacity', { detail: `every route is full: ${detail}` });
}
