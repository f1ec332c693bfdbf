import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Upstream } from '#contracts/catalog.js';
import type { Usage } from '#inference/usage.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import { BoundHistogram } from './bound-histogram.js';
import { providerOf, RouteMetrics } from './route-metrics.js';

/** A route: an upstream, our name of the model, and its name there. As many series as the catalog has ever had routes, no more. */
const LABELS = ['upstream', 'model', 'upstream_model'] as const;

// The boundaries that the conventions advise.
const OPERATION_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const WAIT_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

/** `completed`, `cancelled`, or the code of the failure. */
export type CallOutcome = string;

/** One call of an upstream, at its end. Times are in milliseconds. */
export interface EndedCall {
  outcome: CallOutcome;
  failure: UpstreamFailure | undefined;
  isStream: boolean;
  durationMs: number;
  firstContentMs: number | undefined;
  usage: Usage | undefined;
}

/** Whether a request that has failed may be tried on another route: the budget has one left, or not. */
export type RetryOutcome = (typeof RETRY_OUTCOMES)[number];

const RETRY_OUTCOMES = ['made', 'over-budget'] as const;

/** How waiting for room ended. */
export type WaitOutcome = 'served' | 'refused' | 'left';

/** All routes and models at one moment. */
export interface RoutingSnapshot {
  routes: { upstream: string; model: string; upstreamModel: string; circuit: keyof typeof CIRCUITS }[];
  models: { model: string; waiting: number }[];
}

const CIRCUITS = { closed: 0, 'half-open': 1, open: 2 } as const;

/** The histograms that a route has its series in. */
export interface CallHistograms {
  duration: BoundHistogram;
  firstToken: BoundHistogram;
  perToken: BoundHistogram;
  tokenUsage: BoundHistogram;
}

/**
 * What an operator sees of the upstreams, per route. What OpenTelemetry's conventions for generative AI have
 * a name for is called so, in Prometheus' spelling. Routes count for themselves; all of it is put together when somebody asks.
 */
export class ProxyMetrics {
  private readonly histograms: CallHistograms;
  private readonly waits: Histogram<'model' | 'outcome'>;
  private readonly retries: Counter<'model' | 'outcome'>;
  private readonly routes = new Map<string, RouteMetrics>();

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    const histogram = (name: string, help: string, buckets: readonly number[]) => new BoundHistogram({ name, help, buckets, registers });
    this.histograms = {
      duration: histogram('gen_ai_client_operation_duration_seconds', 'A call of an upstream, to the last byte', OPERATION_SECONDS),
      firstToken: histogram('gen_ai_server_time_to_first_token_seconds', 'Of streams, from request to first content', FIRST_TOKEN_SECONDS),
      perToken: histogram(
        'gen_ai_server_time_per_output_token_seconds',
        'Of streams, the mean time of a token after the first',
        TOKEN_SECONDS,
      ),
      tokenUsage: histogram('gen_ai_client_token_usage', 'Tokens of a call that returned content', TOKENS),
    };
    this.waits = new Histogram({
      name: 'tollgate_model_wait_seconds',
      help: 'Waiting for room on a route, by how it ended: served, refused, left',
      labelNames: ['model', 'outcome'],
      buckets: WAIT_SECONDS,
      registers,
    });
    this.retries = new Counter({
      name: 'tollgate_model_retries_total',
      help: 'Second calls of requests, by outcome: made, over-budget',
      labelNames: ['model', 'outcome'],
      registers,
    });
    this.countCalls();
  }

  /** Reads the state of the routes whenever metrics are collected. */
  watch(read: () => RoutingSnapshot): void {
    const registers = [this.registry];
    new Gauge({
      name: 'tollgate_upstream_breaker_state',
      help: 'Circuit breaker of a route: 0 closed, 1 half-open or due a probe, 2 open',
      labelNames: LABELS,
      registers,
      collect() {
        this.reset();
        for (const { upstream, model, upstreamModel, circuit } of read().routes)
          this.set({ upstream, model, upstream_model: upstreamModel }, CIRCUITS[circuit]);
      },
    });
    new Gauge({
      name: 'tollgate_model_requests_waiting',
      help: 'Requests that wait for room on a route',
      labelNames: ['model'],
      registers,
      collect() {
        this.reset();
        for (const { model, waiting } of read().models) this.set({ model }, waiting);
      },
    });
  }

  /** From now on there is something to count: a counter that first shows as 1 has not moved for those who watch it. */
  ofModel(model: string): void {
    for (const outcome of RETRY_OUTCOMES) this.retries.inc({ model, outcome }, 0);
  }

  retried(model: string, outcome: RetryOutcome): void {
    this.retries.inc({ model, outcome });
  }

  waited(model: string, outcome: WaitOutcome, ms: number): void {
    this.waits.observe({ model, outcome }, ms / 1_000);
  }

  ofRoute(upstream: Pick<Upstream, 'id' | 'kind'>, model: string, upstreamModel: string): RouteMetrics {
    const key = [upstream.id, providerOf(upstream), model, upstreamModel].join('\n'); // all that its series have in their labels
    const known = this.routes.get(key) ?? new RouteMetrics(upstream, model, upstreamModel, this.histograms);
    this.routes.set(key, known);
    return known;
  }

  private countCalls(): void {
    const registers = [this.registry];
    const routes = (): Iterable<RouteMetrics> => this.routes.values();
    new Gauge({
      name: 'tollgate_upstream_calls_in_flight',
      help: 'Calls under way',
      labelNames: LABELS,
      registers,
      collect() {
        this.reset();
        for (const { labels, inFlight } of routes()) this.inc(labels, inFlight);
      },
    });
    new Counter({
      name: 'tollgate_upstream_calls_total',
      help: 'Calls ended, by outcome: completed, cancelled, or the code of the failure',
      labelNames: [...LABELS, 'outcome'],
      registers,
      collect() {
        this.reset();
        for (const { labels, outcomes } of routes()) for (const [outcome, count] of outcomes) this.inc({ ...labels, outcome }, count);
      },
    });
    new Counter({
      name: 'tollgate_upstream_errors_total',
      help: 'Calls failed, by kind',
      labelNames: [...LABELS, 'kind'],
      registers,
      collect() {
        this.reset();
        for (const { labels, errors } of routes()) for (const [kind, count] of errors) this.inc({ ...labels, kind }, count);
      },
    });
    new Counter({
      name: 'tollgate_upstream_tokens_total',
      help: 'Tokens of calls that returned content; cached is a part of prompt, reasoning of output',
      labelNames: [...LABELS, 'kind'],
      registers,
      collect() {
        this.reset();
        for (const { labels, tokens } of routes()) for (const [kind, count] of Object.entries(tokens)) this.inc({ ...labels, kind }, count);
      },
    });
  }
}
