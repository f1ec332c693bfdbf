import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Upstream } from '#contracts/catalog.js';
import type { Usage } from '#inference/usage.js';
import type { ModelRoutes } from './routing/model-routes.js';
import type { UpstreamFailure } from './upstream-failure.js';

const LABELS = ['upstream', 'model'] as const;
const GEN_AI_LABELS = ['upstream', 'gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

// The boundaries that the conventions advise.
const OPERATION_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const WAIT_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

/** As `gen_ai.provider.name` wants it: whose API it is. */
const PROVIDERS = {
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  'anthropic-messages': 'anthropic',
} satisfies Record<Upstream['kind'], string>;

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

/** The series of one route, with their labels bound once: looking them up for every call would cost more than the counting. */
export interface RouteMetrics {
  inFlight: { inc(): void; dec(): void };
  ended(call: EndedCall): void;
}

/** How waiting for room ended. */
export type WaitOutcome = 'served' | 'refused' | 'left';

/**
 * What an operator sees of the upstreams, per upstream and (our) model. What OpenTelemetry's conventions for generative AI have
 * a name for is called so, in Prometheus' spelling.
 */
export class ProxyMetrics {
  private readonly inFlight: Gauge<'upstream' | 'model'>;
  private readonly calls: Counter<'upstream' | 'model' | 'outcome'>;
  private readonly errors: Counter<'upstream' | 'model' | 'kind'>;
  private readonly tokens: Counter<'upstream' | 'model' | 'kind'>;
  private readonly duration: Histogram<(typeof GEN_AI_LABELS)[number] | 'error_type'>;
  private readonly firstToken: Histogram<(typeof GEN_AI_LABELS)[number]>;
  private readonly perToken: Histogram<(typeof GEN_AI_LABELS)[number]>;
  private readonly tokenUsage: Histogram<(typeof GEN_AI_LABELS)[number] | 'gen_ai_token_type'>;
  private readonly waits: Histogram<'model' | 'outcome'>;
  private readonly routes = new Map<string, RouteMetrics>();

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    const upstream = { labelNames: LABELS, registers };
    this.inFlight = new Gauge({ name: 'tollgate_upstream_calls_in_flight', help: 'Calls under way', ...upstream });
    this.calls = new Counter({
      name: 'tollgate_upstream_calls_total',
      help: 'Calls ended, by outcome: completed, cancelled, or the code of the failure',
      labelNames: [...LABELS, 'outcome'],
      registers,
    });
    this.errors = new Counter({
      name: 'tollgate_upstream_errors_total',
      help: 'Calls failed, by kind',
      labelNames: [...LABELS, 'kind'],
      registers,
    });
    this.tokens = new Counter({
      name: 'tollgate_upstream_tokens_total',
      help: 'Tokens of calls that returned content; cached is a part of prompt, reasoning of output',
      labelNames: [...LABELS, 'kind'],
      registers,
    });
    this.duration = new Histogram({
      name: 'gen_ai_client_operation_duration_seconds',
      help: 'A call of an upstream, from request to the last byte',
      labelNames: [...GEN_AI_LABELS, 'error_type'],
      buckets: OPERATION_SECONDS,
      registers,
    });
    this.firstToken = new Histogram({
      name: 'gen_ai_server_time_to_first_token_seconds',
      help: 'Of streams, from request to the first content',
      labelNames: GEN_AI_LABELS,
      buckets: FIRST_TOKEN_SECONDS,
      registers,
    });
    this.perToken = new Histogram({
      name: 'gen_ai_server_time_per_output_token_seconds',
      help: 'Of streams, the mean time of a token after the first',
      labelNames: GEN_AI_LABELS,
      buckets: TOKEN_SECONDS,
      registers,
    });
    this.tokenUsage = new Histogram({
      name: 'gen_ai_client_token_usage',
      help: 'Tokens of a call that returned content',
      labelNames: [...GEN_AI_LABELS, 'gen_ai_token_type'],
      buckets: TOKENS,
      registers,
    });
    this.waits = new Histogram({
      name: 'tollgate_model_wait_seconds',
      help: 'Waiting for room on a route, by how it ended: served, refused, left',
      labelNames: ['model', 'outcome'],
      buckets: WAIT_SECONDS,
      registers,
    });
  }

  /** What is read when somebody asks for metrics, and costs nothing until then. */
  watch(models: () => readonly ModelRoutes[]): void {
    const registers = [this.registry];
    new Gauge({
      name: 'tollgate_upstream_breaker_state',
      help: 'Whether the route is called: 0 yes, 1 a probe is under way, 2 it rests',
      labelNames: LABELS,
      registers,
      collect() {
        this.reset();
        for (const { id, routes } of models())
          for (const { link, breaker } of routes)
            this.set({ upstream: link.upstream.id, model: id }, link.isWell ? BREAKER_STATES[breaker.state] : BREAKER_STATES.open);
      },
    });
    new Gauge({
      name: 'tollgate_model_requests_waiting',
      help: 'Requests that wait for room on a route',
      labelNames: ['model'],
      registers,
      collect() {
        this.reset();
        for (const { id, waiting } of models()) this.set({ model: id }, waiting);
      },
    });
  }

  waited(model: string, outcome: WaitOutcome, ms: number): void {
    this.waits.observe({ model, outcome }, ms / 1_000);
  }

  ofRoute(upstream: Pick<Upstream, 'id' | 'kind'>, model: string): RouteMetrics {
    const key = `${upstream.id}\n${upstream.kind}\n${model}`;
    const known = this.routes.get(key);
    if (known !== undefined) return known;
    const bound = this.bind(upstream, model);
    this.routes.set(key, bound);
    return bound;
  }

  private bind(upstream: Pick<Upstream, 'id' | 'kind'>, model: string): RouteMetrics {
    const labels = { upstream: upstream.id, model };
    const genAi = {
      upstream: upstream.id,
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: PROVIDERS[upstream.kind],
      gen_ai_request_model: model,
    };
    const completed = this.calls.labels({ ...labels, outcome: 'completed' });
    const durations = new Map<string | undefined, { observe(seconds: number): void }>();
    const durationOf = (errorType: string | undefined) => {
      const known = durations.get(errorType) ?? this.duration.labels(errorType === undefined ? genAi : { ...genAi, error_type: errorType });
      durations.set(errorType, known);
      return known;
    };
    const firstToken = this.firstToken.labels(genAi);
    const perToken = this.perToken.labels(genAi);
    const count = this.tokenCounter(labels, genAi);
    return {
      inFlight: this.inFlight.labels(labels),
      ended: ({ outcome, failure, isStream, durationMs, firstContentMs, usage }) => {
        if (outcome === 'completed') completed.inc();
        else this.calls.inc({ ...labels, outcome });
        if (failure !== undefined) this.errors.inc({ ...labels, kind: failure.kind });
        durationOf(outcome === 'completed' ? undefined : (failure?.kind ?? outcome)).observe(durationMs / 1_000);
        if (usage !== undefined) count(usage);
        if (!isStream || firstContentMs === undefined) return;
        firstToken.observe(firstContentMs / 1_000);
        const tokens = usage?.outputTokens ?? 0;
        if (tokens > 1) perToken.observe((durationMs - firstContentMs) / (tokens - 1) / 1_000);
      },
    };
  }

  private tokenCounter(labels: Record<'upstream' | 'model', string>, genAi: Record<(typeof GEN_AI_LABELS)[number], string>) {
    const input = this.tokenUsage.labels({ ...genAi, gen_ai_token_type: 'input' });
    const outputs = this.tokenUsage.labels({ ...genAi, gen_ai_token_type: 'output' });
    const of = (kind: string) => this.tokens.labels({ ...labels, kind });
    const [prompt, cached, output, reasoning] = [of('prompt'), of('cached'), of('output'), of('reasoning')];
    return ({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): void => {
      prompt.inc(promptTokens);
      cached.inc(cachedTokens);
      output.inc(outputTokens);
      reasoning.inc(reasoningTokens);
      input.observe(promptTokens);
      outputs.observe(outputTokens);
    };
  }
}

const BREAKER_STATES = { closed: 0, 'half-open': 1, open: 2 };
