import type { InferenceRequest } from '#inference/request.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { ProxyMetrics, WaitOutcome } from '../metrics/proxy-metrics.js';
import { forcesCall } from '../upstreams/requests/tool-choice.js';
import { type Admission, AdmissionQueue, type QueueOptions } from './admission-queue.js';
import { chooseRoute, type RouteView } from './choose-route.js';
import { prefixKey } from './prompt-prefix.js';
import { RetryBudget, type RetryOptions } from './retry-budget.js';
import type { RouteCall, RouteState } from './route-state.js';

const RETRY_AFTER_SECONDS_MAX = 60;
/** The model has no routes until the catalog changes, which may be soon. */
const NO_ROUTES_RETRY_AFTER_SECONDS = 5;
const CALL_MS_UNKNOWN = 1_000;

/** Routes that are out of the question for a request, such as those that have failed for it. */
export type TriedRoutes = Pick<ReadonlySet<RouteState>, 'has' | 'size'>;

/** A request for a route. */
export interface RouteRequest {
  request: InferenceRequest;
  accountId: string;
  tried: TriedRoutes;
  /** False for every further call. After a stale connection `tried` is still empty, so that the further call may probe. */
  isFirst: boolean;
}

/** The routes of one model: which of them gets a request, which requests wait, and how many are retried. */
export class ModelRouter {
  /** Call `serve` when they have changed. */
  routes: readonly RouteState[] = [];
  readonly queue: AdmissionQueue<RouteCall>;
  private readonly budget: RetryBudget;

  constructor(
    readonly id: string,
    private readonly options: QueueOptions & RetryOptions,
    private readonly random: () => number,
    private readonly metrics: ProxyMetrics,
    /** Called when a request waits: `serve` must then be called when anything becomes free. */
    private readonly onWait: (model: ModelRouter) => void,
  ) {
    this.queue = new AdmissionQueue(options, () => full('every route was full for queueWaitMs'));
    this.budget = new RetryBudget(options);
  }

  /**
   * Returns a call on a route that is not among `tried`, or a promise of one while every route is full. Throws or rejects with
   * `UpstreamFailure`: `model_capacity` when the queue is full, the wait was in vain, or no route may be called and an upstream at
   * capacity has asked to be called later; `invalid_request` when the request forces a call and no route takes that; `model_unavailable` when there is no route for another reason, or the retry budget is empty.
   * Rejects with the signal's reason when it fires.
   */
  acquire(asked: RouteRequest, signal: AbortSignal): RouteCall | Promise<RouteCall> {
    if (asked.isFirst) this.budget.onRequest();
    const admission = this.admit(asked);
    if (admission === undefined) {
      if (!this.queue.hasRoom(asked.accountId)) throw full('every route and the queue are full');
      return this.wait(asked, signal);
    }
    if ('failure' in admission) throw admission.failure;
    return admission.grant;
  }

  /** Gives waiting requests what has become free. */
  serve(): void {
    if (this.queue.size > 0) this.queue.serve();
  }

  /**
   * Seconds, from 1 to 60, after which a refused client may come back: when the first route may be called again, or when the queue will
   * have moved on, by the usual length of a call.
   */
  retryAfterSeconds(accountId: string): number {
    if (this.routes.length === 0) return NO_ROUTES_RETRY_AFTER_SECONDS;
    const now = performance.now();
    const waitMs = Math.min(
      ...this.routes.map((route) => Math.max(route.cooldownMs(now), route.hasRoom(accountId) ? 0 : this.drainMs(route, accountId))),
    );
    return Math.min(RETRY_AFTER_SECONDS_MAX, Math.max(1, Math.ceil(waitMs / 1_000)));
  }

  private admit({ request, accountId, tried, isFirst }: RouteRequest): Admission<RouteCall> {
    const now = performance.now();
    const isForced = forcesCall(request.toolChoice);
    const routes: RouteState[] = [];
    const views: RouteView[] = [];
    for (const route of this.routes) {
      const isOut = tried.has(route) || (isForced && !route.takesForcedCall);
      const view = isOut ? undefined : route.view(accountId, tried.size > 0, now);
      if (view === undefined) continue;
      routes.push(route);
      views.push(view);
    }
    const choice = chooseRoute(views, views.length > 1 ? prefixKey(request) : 0, this.random);
    if (choice === 'full') return undefined;
    if (choice === 'none') return { failure: isForced && this.takesNoForcedCall ? noForcedCall() : this.noRouteFailure(now) };
    if (!isFirst && !this.takeRetry(now)) return { failure: unavailable('the retry budget is empty') };
    return { grant: (routes[choice] as RouteState).begin(accountId, request.stream, now) };
  }

  private async wait(asked: RouteRequest, signal: AbortSignal): Promise<RouteCall> {
    const since = performance.now();
    let outcome: WaitOutcome = 'refused';
    try {
      const isLimited = asked.tried.size > 0 || forcesCall(asked.request.toolChoice);
      const admission = this.queue.wait(asked.accountId, () => this.admit(asked), isLimited, signal);
      this.onWait(this);
      const call = await admission;
      outcome = 'served';
      call.queueMs = performance.now() - since;
      return call;
    } finally {
      this.metrics.waited(this.id, outcome === 'refused' && signal.aborted ? 'left' : outcome, performance.now() - since);
    }
  }

  /** Takes a retry from the budget. Returns false when none is left. */
  private takeRetry(now: number): boolean {
    const isTaken = this.budget.take(now);
    this.metrics.retried(this.id, isTaken ? 'made' : 'over-budget');
    return isTaken;
  }

  private get takesNoForcedCall(): boolean {
    return this.routes.length > 0 && !this.routes.some(({ takesForcedCall }) => takesForcedCall);
  }

  private noRouteFailure(now: number): UpstreamFailure {
    return this.routes.some((route) => route.isAtCapacity(now))
      ? new UpstreamFailure('refused', 'model_capacity', { detail: 'an upstream has asked to be called later, and no other route is left' })
      : unavailable('no route of the model may be called now');
  }

  /**
   * Milliseconds until there is room for one more request behind those that wait. Assumes that running calls end evenly over the usual
   * duration of a call. Each waiting request needs one of these ends, but none waits longer than `queueWaitMs`.
   */
  private drainMs({ statistics, upstream, inFlight }: RouteState, accountId: string): number {
    const running = upstream.hasRoom(accountId) ? inFlight : upstream.calls.inUse;
    const endsEveryMs = (statistics.durationMs ?? CALL_MS_UNKNOWN) / Math.max(1, running);
    return endsEveryMs + Math.min(endsEveryMs * this.queue.size, this.options.queueWaitMs);
  }
}

/** An answer without the call would be another one than the client asked for. */
function noForcedCall(): UpstreamFailure {
  return new UpstreamFailure('rejected', 'invalid_request', {
    detail: 'no route of the model takes a forced tool choice',
    rejection: 'it does not take a tool_choice that forces a call. Use "auto" instead.',
  });
}

function unavailable(detail: string): UpstreamFailure {
  return new UpstreamFailure('unreachable', 'model_unavailable', { detail });
}

function full(detail: string): UpstreamFailure {
  return new UpstreamFailure('refused', 'model_capacity', { detail });
}
