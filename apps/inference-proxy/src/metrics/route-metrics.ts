import type { Upstream } from '#contracts/catalog.js';
import type { Usage } from '#inference/usage.js';
import { FAILURE_CODES, FAILURE_KINDS, type FailureKind } from '../failures/upstream-failure.js';
import type { Series } from './bound-histogram.js';
import type { CallHistograms, CallOutcome, EndedCall } from './proxy-metrics.js';

/** As `gen_ai.provider.name` wants it: whose API it is. */
const PROVIDERS = {
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  'anthropic-messages': 'anthropic',
} satisfies Record<Upstream['kind'], string>;

export function providerOf({ kind }: Pick<Upstream, 'kind'>): string {
  return PROVIDERS[kind];
}

/** The numbers of one route, since the start. */
export class RouteMetrics {
  readonly labels: { upstream: string; model: string; upstream_model: string };
  inFlight = 0;
  // From the start all of them, at 0: a counter that first shows as 1 has not moved for those who watch it.
  readonly outcomes = new Map<CallOutcome, number>(['completed', 'cancelled', ...FAILURE_CODES].map((outcome) => [outcome, 0]));
  readonly errors = new Map<FailureKind, number>(FAILURE_KINDS.map((kind) => [kind, 0]));
  readonly tokens = { prompt: 0, cached: 0, output: 0, reasoning: 0 };
  private readonly genAi: Record<string, string>;
  /** By `error.type`; undefined for calls that came to their end. */
  private readonly durations = new Map<string | undefined, Series>();
  private readonly firstToken: Series;
  private readonly perToken: Series;
  private readonly input: Series;
  private readonly output: Series;

  constructor(
    upstream: Pick<Upstream, 'id' | 'kind'>,
    model: string,
    upstreamModel: string,
    private readonly histograms: CallHistograms,
  ) {
    this.labels = { upstream: upstream.id, model, upstream_model: upstreamModel };
    // What the upstream is asked for is its own name of the model.
    const conventional = { gen_ai_operation_name: 'chat', gen_ai_provider_name: providerOf(upstream), gen_ai_request_model: upstreamModel };
    this.genAi = { upstream: upstream.id, model, ...conventional };
    this.firstToken = histograms.firstToken.bind(this.genAi);
    this.perToken = histograms.perToken.bind(this.genAi);
    this.input = histograms.tokenUsage.bind({ ...this.genAi, gen_ai_token_type: 'input' });
    this.output = histograms.tokenUsage.bind({ ...this.genAi, gen_ai_token_type: 'output' });
  }

  ended({ outcome, failure, isStream, durationMs, firstContentMs, usage }: EndedCall): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    if (failure !== undefined) this.errors.set(failure.kind, (this.errors.get(failure.kind) ?? 0) + 1);
    this.duration(outcome === 'completed' ? undefined : (failure?.kind ?? outcome)).observe(durationMs / 1_000);
    if (usage !== undefined) this.count(usage);
    if (!isStream || firstContentMs === undefined) return;
    this.firstToken.observe(firstContentMs / 1_000);
    const outputTokens = usage?.outputTokens ?? 0;
    if (outputTokens > 1) this.perToken.observe((durationMs - firstContentMs) / (outputTokens - 1) / 1_000);
  }

  private duration(errorType: string | undefined): Series {
    const known = this.durations.get(errorType);
    if (known !== undefined) return known;
    const series = this.histograms.duration.bind(errorType === undefined ? this.genAi : { ...this.genAi, error_type: errorType });
    this.durations.set(errorType, series);
    return series;
  }

  private count({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): void {
    const { tokens } = this;
    tokens.prompt += promptTokens;
    tokens.cached += cachedTokens;
    tokens.output += outputTokens;
    tokens.reasoning += reasoningTokens;
    this.input.observe(promptTokens);
    this.output.observe(outputTokens);
  }
}
