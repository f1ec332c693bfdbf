import { Counter, Gauge, type Histogram, type Registry } from 'prom-client';
import type { Upstream } from '#contracts/catalog.js';
import type { RouteStatus } from '#contracts/route-status.js';
import { BoundHistogram } from '#observability/bound-histogram.js';
import { metricsIn } from '#observability/metrics-in.js';
import { type CallHistograms, type Operation, providerName, RouteMetrics } from './route-metrics.js';

/** Labels of a route. A series stays for as long as the process runs, so there are as many as the catalog has had routes. */
const LABELS = ['upstream', 'model', 'upstream_model'] as const;

// Bucket bounds that OpenTelemetry's conventions recommend, and above them some for models that reason for minutes.
const OPERATION_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36];
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120, 300, 600];
const CHUNK_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 10, 60, 600];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const WAIT_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

/** `made`: a failed request is tried on another route. `over-budget`: the retry budget has none left. */
export type RetryOutcome = (typeof RETRY_OUTCOMES)[number];

const RETRY_OUTCOMES = ['made', 'over-budget'] as const;

/** End of a wait in the admission queue. `left`: the client disconnected. */
export type WaitOutcome = (typeof WAIT_OUTCOMES)[number];

const WAIT_OUTCOMES = ['served', 'refused', 'left'] as const;

/** All routes and models at one moment, as the gauges read them. */
export interface RoutingSnapshot {
  routes: Pick<RouteStatus, 'upstream' | 'model' | 'upstreamModel' | 'circuit'>[];
  /** `waiting` is the number of requests in the admission queue. */
  models: { model: string; waiting: number }[];
  /** `inUse` is the number of sockets with a call. `hasToken` is undefined for an upstream without `auth`. */
  upstreams: { upstream: string; inUse: number; connectionsMax: number; hasToken: boolean | undefined }[];
}

const CIRCUITS = { closed: 0, 'half-open': 1, open: 2 } satisfies Record<RouteStatus['circuit'], number>;

/** A value of a metric and its labels. */
type Series = [labels: Record<string, string>, value: number];

/**
 * Metrics of upstream calls, per route. Names follow OpenTelemetry's conventions for generative AI where they have one. Routes count
 * in plain fields, and a scrape collects them: updating a prom-client counter would cost a microsecond for each.
 */
export class ProxyMetrics {
  private readonly histograms: CallHistograms;
  private readonly waits: Histogram<'model' | 'outcome'>;
  private readonly retries: Counter<'model' | 'outcome'>;
  private readonly routes = new Map<string, RouteMetrics>();

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    const make = metricsIn(registry);
    const histogram = (name: string, help: string, buckets: number[]) => new BoundHistogram({ name, help, buckets, registers });
    this.histograms = {
      duration: histogram('gen_ai_client_operation_duration_seconds', 'Duration of upstream calls', OPERATION_SECONDS),
      firstToken: histogram('gen_ai_client_operation_time_to_first_chunk_seconds', 'Time to first content of streams', FIRST_TOKEN_SECONDS),
      perChunk: histogram(
        'gen_ai_client_operation_time_per_output_chunk_seconds',
        'Mean time per chunk of a stream after the first',
        CHUNK_SECONDS,
      ),
      perToken: histogram('gen_ai_server_time_per_output_token_seconds', 'Mean time per output token after the first', TOKEN_SECONDS),
      tokenUsage: histogram('gen_ai_client_token_usage', 'Tokens of calls that returned content', TOKENS),
    };
    this.waits = make.histogram(
      'tollgate_model_wait_seconds',
      'Time in the admission queue, by outcome: served, refused, left',
      WAIT_SECONDS,
      ['model', 'outcome'],
    );
    this.retries = make.counter('tollgate_model_retries_total', 'Retries on another route, by outcome: made, over-budget', [
      'model',
      'outcome',
    ]);
    this.countCalls();
  }

  /** Adds gauges that read the state of the routes at each scrape. */
  watch(read: () => RoutingSnapshot): void {
    const state = 'Circuit breaker of the route: 0 closed, 1 half-open or due a probe, 2 open';
    this.scrape(Gauge, 'tollgate_upstream_breaker_state', state, LABELS, () =>
      read().routes.map(({ upstream, model, upstreamModel, circuit }) => [
        { upstream, model, upstream_model: upstreamModel },
        CIRCUITS[circuit],
      ]),
    );
    this.scrape(Gauge, 'tollgate_model_requests_waiting', 'Requests in the admission queue', ['model'], () =>
      read().models.map(({ model, waiting }) => [{ model }, waiting]),
    );
    this.scrape(Gauge, 'tollgate_upstream_connections', 'Sockets of the upstream in use', ['upstream'], () =>
      read().upstreams.map(({ upstream, inUse }) => [{ upstream }, inUse]),
    );
    this.scrape(Gauge, 'tollgate_upstream_connections_max', 'Sockets that this replica may have', ['upstream'], () =>
      read().upstreams.map(({ upstream, connectionsMax }) => [{ upstream }, connectionsMax]),
    );
    this.scrape(Gauge, 'tollgate_upstream_credential', '1, or 0 while there is no credential to call it with', ['upstream'], () =>
      read().upstreams.flatMap(({ upstream, hasToken }): Series[] => (hasToken === undefined ? [] : [[{ upstream }, hasToken ? 1 : 0]])),
    );
  }

  /** Creates the counters and histograms of a model at 0: an alert on an increase misses a counter that first appears as 1. */
  ofModel(model: string): void {
    for (const outcome of RETRY_OUTCOMES) this.retries.inc({ model, outcome }, 0);
    for (const outcome of WAIT_OUTCOMES) this.waits.zero({ model, outcome });
  }

  retried(model: string, outcome: RetryOutcome): void {
    this.retries.inc({ model, outcome });
  }

  waited(model: string, outcome: WaitOutcome, ms: number): void {
    this.waits.observe({ model, outcome }, ms / 1_000);
  }

  ofRoute(upstream: Pick<Upstream, 'id' | 'kind'>, model: string, upstreamModel: string, operation: Operation = 'chat'): RouteMetrics {
    const key = [upstream.id, providerName(upstream), model, upstreamModel, operation].join('\n');
    const known = this.routes.get(key) ?? new RouteMetrics(upstream, model, upstreamModel, operation, this.histograms);
    this.routes.set(key, known);
    return known;
  }

  private countCalls(): void {
    this.scrape(Gauge, 'tollgate_upstream_calls_in_flight', 'Upstream calls in flight', LABELS, () =>
      [...this.routes.values()].map(({ labels, inFlight }) => [labels, inFlight]),
    );
    const ended = 'Upstream calls ended, by outcome: completed, cancelled, or the failure code';
    this.countByRoute('tollgate_upstream_calls_total', ended, 'outcome', ({ outcomes }) => outcomes);
    this.countByRoute('tollgate_upstream_errors_total', 'Upstream calls failed, by kind', 'kind', ({ errors }) => errors);
    const odd = 'Replies of upstreams that are odd, by kind: unknown-finish, contradictory-usage';
    this.countByRoute('tollgate_upstream_oddities_total', odd, 'kind', ({ oddities }) => oddities);
    const cost = 'Calls that returned content at the cost price of their route, without prices of images; absent without a cost price';
    this.scrape(Counter, 'tollgate_upstream_cost_pico_usd_total', cost, LABELS, () =>
      [...this.routes.values()].flatMap(({ labels, costPicoUsd }): Series[] => (costPicoUsd === undefined ? [] : [[labels, costPicoUsd]])),
    );
    const unbilled = 'Output tokens that upstreams counted beyond the cap of a request: the operator pays for them';
    this.scrape(Counter, 'tollgate_upstream_unbilled_tokens_total', unbilled, LABELS, () =>
      [...this.routes.values()].map(({ labels, unbilledTokens }) => [labels, unbilledTokens]),
    );
    const tokens = 'Tokens of calls that returned content; cached is part of prompt, reasoning part of output';
    this.countByRoute('tollgate_upstream_tokens_total', tokens, 'kind', (route) => Object.entries(route.tokens));
  }

  /** Adds a counter with one more label than a route has. */
  private countByRoute(name: string, help: string, label: string, listCounts: (route: RouteMetrics) => Iterable<[string, number]>): void {
    const listSeries = (route: RouteMetrics): Series[] =>
      Array.from(listCounts(route), ([value, count]) => [{ ...route.labels, [label]: value }, count]);
    this.scrape(Counter, name, help, [...LABELS, label], () => [...this.routes.values()].flatMap(listSeries));
  }

  /** Adds a metric whose values are read at each scrape. */
  private scrape(
    Kind: typeof Counter | typeof Gauge,
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Series[],
  ): void {
    new Kind({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [labels, value] of read()) this.inc(labels, value);
      },
    });
  }
}
