import type { Upstream } from '#contracts/catalog.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { isContent, type StreamEvent } from '#inference/stream-event.js';
import { asFailure, UpstreamFailure } from '../failures/upstream-failure.js';
import type { TriedRoutes } from '../routing/model-router.js';
import type { RouteCall, RouteState } from '../routing/route-state.js';
import type { RouteTable } from '../routing/route-table.js';
import { readApiKey } from '../transport/api-key.js';
import { callUpstream } from './call-upstream.js';
import { InferenceRun, type Reader, type RunDependencies } from './inference-run.js';

export interface InferenceDependencies extends RunDependencies {
  routes: Pick<RouteTable, 'acquire' | 'retryAfterSeconds'>;
  /** Upstream calls for one request, the first included. The first call that fails on a stale connection does not count. */
  attemptsMax: number;
  /** Milliseconds after which no further call is started for a request. */
  failoverMs: number;
}

type Batch = readonly StreamEvent[];

/**
 * Runs one request: chooses a route, calls it and yields its events, in the grammar of `stream-event.ts`. Tries another route only
 * while nothing has been returned. Never throws: a failure is an event.
 *
 * `reader.signal` fires when the gateway stops reading. The upstream's socket is then closed at once, and the stream ends with a
 * `usage-report` of what was received, without a terminal event. An upstream that bills hidden output is read on instead, and the
 * stream ends with `settlement-deferred`.
 */
export async function* streamInference(
  job: GenerateRequest,
  reader: Reader,
  dependencies: InferenceDependencies,
): AsyncGenerator<Batch, void, undefined> {
  const run = new InferenceRun(job, reader, dependencies);
  const attempts = new Attempts(dependencies);
  try {
    let failure: UpstreamFailure | undefined;
    while (!run.isAborted) {
      const call = await acquireRoute(run, attempts, dependencies, failure);
      if (call === undefined || call instanceof UpstreamFailure) {
        failure = call ?? failure;
        break;
      }
      const failed = yield* attemptOn(call, run);
      // The rejection by one dialect says more than the failure of another.
      failure = failed && failure?.code === 'invalid_request' ? failure : failed;
      if (failed === undefined || run.hasReturnedContent || !attempts.recordFailure(call, failed)) break;
    }
    yield* run.lastBatches(failure, failure && retryAfterSeconds(failure, job, dependencies));
  } finally {
    run.end();
  }
}

/** The calls of one request, and the routes that are out of the question after them. */
class Attempts implements TriedRoutes {
  private readonly routes = new Set<RouteState>();
  /** Dialects in which the request was rejected. No other route of them would accept it. */
  private readonly rejecting = new Set<Upstream['kind']>();
  private made = 0;
  private hadStaleSocket = false;
  private readonly startedAt = performance.now();

  constructor(private readonly dependencies: Pick<InferenceDependencies, 'attemptsMax' | 'failoverMs'>) {}

  get size(): number {
    return this.routes.size;
  }

  has(route: RouteState): boolean {
    return this.routes.has(route) || this.rejecting.has(route.client.upstream.kind);
  }

  /** Records a failed call. Call once for each. Returns true when another call may be made. */
  recordFailure({ route, client }: RouteCall, failure: UpstreamFailure): boolean {
    const { attemptsMax, failoverMs } = this.dependencies;
    // A reused connection that the upstream had just closed says nothing about the route. The first one of each request is no attempt.
    const isFree = failure.kind === 'stale' && !this.hadStaleSocket;
    if (isFree) this.hadStaleSocket = true;
    else {
      this.routes.add(route);
      this.made += 1;
    }
    if (failure.code === 'invalid_request') this.rejecting.add(client.upstream.kind);
    return failure.retryable && this.made < attemptsMax && performance.now() - this.startedAt < failoverMs;
  }
}

/** Returns a route, or why there is none; an earlier failure is the better reason. Returns undefined when the request was cancelled. */
async function acquireRoute(
  run: InferenceRun,
  tried: TriedRoutes,
  { routes, logger }: InferenceDependencies,
  earlier: UpstreamFailure | undefined,
): Promise<RouteCall | UpstreamFailure | undefined> {
  const { request, ticket } = run.job;
  try {
    return await routes.acquire({ request, accountId: ticket.accountId, tried, isFirst: earlier === undefined }, run.abortSignal);
  } catch (error) {
    if (run.isAborted) return undefined;
    const failure = asFailure(error);
    run.trace.noRoute(failure);
    if (earlier === undefined && failure.kind !== 'rejected')
      logger.warn({ ...run.trace.fields, model: request.model, detail: failure.detail }, 'no route available');
    return earlier ?? failure;
  }
}

/** Makes one call on one route. Returns why it failed; undefined when it completed or was cancelled. */
async function* attemptOn(call: RouteCall, run: InferenceRun): AsyncGenerator<Batch, UpstreamFailure | undefined, undefined> {
  const { request } = run.job;
  const isCollected = !request.stream && request.embedding === undefined; // vectors come when all are complete
  const meter = run.startAttempt(call);
  let failure: UpstreamFailure | undefined;
  let last: Batch = [];
  try {
    for await (const events of run.detachable(callUpstream(call, run.job, meter, readApiKey(call.client.upstream), run.abortSignal))) {
      if (run.isReadingOn) break;
      if (call.firstContentAt !== undefined) call.laterChunks += 1;
      else if (events.some(isContent)) call.onContent();
      if (isCollected) {
        run.collect(events);
        continue;
      }
      const batch = run.markReturned(events);
      if (run.hasFinished) {
        last = batch;
        break;
      }
      yield batch;
    }
    if (isCollected && !run.isReadingOn) last = run.returnCollected();
  } catch (error) {
    if (!run.isAborted && !run.isReadingOn) failure = asFailure(error);
  } finally {
    if (!run.isReadingOn) run.endCall(failure);
  }
  if (failure === undefined && last.length > 0) yield run.withAttempts(last); // after the call has ended: a slow reader must not occupy the route
  return failure;
}

/** Returns when a temporary failure may be retried. The routes know best: they include the upstream's own `Retry-After`. */
function retryAfterSeconds(
  failure: UpstreamFailure,
  { request, ticket }: GenerateRequest,
  { routes }: InferenceDependencies,
): number | undefined {
  const isTemporary = failure.code === 'model_capacity' || failure.code === 'model_unavailable';
  return isTemporary ? (routes.retryAfterSeconds(request.model, ticket.accountId) ?? failure.retryAfterSeconds) : undefined;
}
