import { readSecret } from '#config/load-config.js';
import type { GenerateRequest } from '#contracts/inference.js';
import { isContent, type StreamEvent } from '#inference/stream-event.js';
import type { Logger } from '#observability/logger.js';
import { callUpstream } from './call-upstream.js';
import { InferenceRun, type Reader, type RunDependencies } from './inference-run.js';
import type { ModelRoute, RouteBook } from './routing/route-book.js';
import { UpstreamFailure } from './upstream-failure.js';

export interface InferenceDependencies extends RunDependencies {
  routes: Pick<RouteBook, 'acquire'>;
  logger: Logger;
  /** Calls of upstreams for one request, the first included. */
  attemptsMax: number;
}

type Batch = readonly StreamEvent[];

/**
 * Runs one request: chooses a route, calls it, and passes on what it says, by the grammar of `stream-event.ts`. Another
 * route is tried only while nothing has been returned. Never throws: a failure is an event.
 *
 * `reader.signal` fires when the reader has left. The upstream's socket is then closed at once, and the stream ends with a
 * `usage-report` of what had been received, without a terminal event.
 */
export async function* streamInference(
  job: GenerateRequest,
  reader: Reader,
  dependencies: InferenceDependencies,
): AsyncGenerator<Batch, void, undefined> {
  const run = new InferenceRun(job, reader, dependencies);
  try {
    const tried = new Set<ModelRoute>();
    let failure: UpstreamFailure | undefined;
    for (let attempt = 1; attempt <= dependencies.attemptsMax && !run.stopped; attempt++) {
      const route = acquireRoute(job, tried, dependencies, failure);
      if (route instanceof UpstreamFailure) {
        failure = route;
        break;
      }
      // An idle socket that the upstream had just closed says nothing about the route: it gets one more chance.
      const secondChance = failure?.kind === 'stale';
      failure = yield* attemptOn(route, run, dependencies);
      if (failure === undefined || run.hasReturnedContent || !failure.retryable) break;
      if (failure.kind !== 'stale' || secondChance) tried.add(route);
    }
    yield* run.closing(failure);
  } finally {
    run.end();
  }
}

/** A route, or why there is none; an earlier failure says more than that nothing is left to try. */
function acquireRoute(
  { request, ticket }: GenerateRequest,
  tried: ReadonlySet<ModelRoute>,
  { routes, logger }: InferenceDependencies,
  earlier: UpstreamFailure | undefined,
): ModelRoute | UpstreamFailure {
  try {
    return routes.acquire(request.model, tried);
  } catch (error) {
    const failure = asFailure(error);
    if (earlier === undefined) logger.warn({ requestId: ticket.requestId, model: request.model, detail: failure.detail }, 'no route');
    return earlier ?? failure;
  }
}

/** One call on one route. Returns why it failed; undefined when it came to its end, or was stopped by us. */
async function* attemptOn(
  route: ModelRoute,
  run: InferenceRun,
  { logger }: InferenceDependencies,
): AsyncGenerator<Batch, UpstreamFailure | undefined, undefined> {
  const { request, ticket } = run.job;
  const startedAt = performance.now();
  const meter = run.startAttempt(route);
  let failure: UpstreamFailure | undefined;
  let firstContentMs: number | undefined;
  try {
    for await (const events of callUpstream(route, run.job, meter, apiKeyOf(route), run.stopSignal)) {
      if (firstContentMs === undefined && events.some(isContent)) firstContentMs = performance.now() - startedAt;
      if (request.stream) yield run.pass(events);
      else run.collect(events);
    }
    if (!request.stream) yield run.passCollected();
  } catch (error) {
    if (!run.stopped) failure = asFailure(error);
  } finally {
    route.release(failure);
    route.metrics.ended({
      outcome: failure?.code ?? (run.stopped || !run.hasFinished ? 'cancelled' : 'completed'),
      durationMs: performance.now() - startedAt,
      firstContentMs,
      usage: meter.hasContent ? meter.soFar() : undefined,
    });
  }
  if (failure !== undefined) logFailure(logger, failure, { requestId: ticket.requestId, holdId: ticket.holdId, route });
  return failure;
}

/** The secret goes to the upstream that names it, and nowhere else. */
function apiKeyOf({ link: { upstream } }: ModelRoute): string | undefined {
  if (upstream.apiKeyEnv === null) return undefined;
  const key = readSecret(upstream.apiKeyEnv)?.trim(); // secrets kept in files end with a new line
  if (key === undefined)
    throw new UpstreamFailure('refused', 'model_unavailable', {
      detail: `${upstream.apiKeyEnv} is not set`,
      isOperatorsFault: true,
    });
  return key;
}

function asFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  return new UpstreamFailure('limit', 'internal_error', { detail: 'a fault of our own', cause: error });
}

function logFailure(
  logger: Logger,
  failure: UpstreamFailure,
  { route, ...ids }: { requestId: string; holdId: string; route: ModelRoute },
): void {
  const { kind, code, detail } = failure;
  const fields = { ...ids, upstream: route.link.upstream.id, model: route.model, kind, code, detail };
  if (code === 'internal_error') logger.error({ ...fields, err: failure.cause }, 'upstream call failed on our side');
  else if (failure.isOperatorsFault) logger.error(fields, 'upstream refuses us: check its key, quota and address');
  else logger.warn(fields, 'upstream call failed');
}
