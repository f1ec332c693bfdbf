import type { Histogram } from 'prom-client';
import type { Upstream } from '#contracts/catalog.js';
import type { Usage } from '#inference/usage.js';
import { FAILURE_CODES, FAILURE_KINDS, type FailureKind, type UpstreamFailure } from '../failures/upstream-failure.js';

/** The end of an upstream call. */
export interface CallEnd {
  /** `completed`, `cancelled`, or the code of the failure. */
  outcome: string;
  failure: UpstreamFailure | undefined;
  /** Undefined when no content was returned. */
  usage: Usage | undefined;
}

/** One upstream call that has ended. Times are in milliseconds. */
export interface EndedCall extends CallEnd {
  isStream: boolean;
  durationMs: number;
  firstContentMs: number | undefined;
}

/** Histograms that all routes share. */
export interface CallHistograms {
  duration: Histogram;
  firstToken: Histogram;
  perToken: Histogram;
  tokenUsage: Histogram;
}

/** Values of `gen_ai.provider.name` in OpenTelemetry's conventions. */
const PROVIDERS = {
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  'anthropic-messages': 'anthropic',
} satisfies Record<Upstream['kind'], string>;

export function providerOf({ kind }: Pick<Upstream, 'kind'>): string {
  return PROVIDERS[kind];
}

/** Counts the calls of one route since the start of the process. */
export class RouteMetrics {
  readonly labels: { upstream: string; model: string; upstream_model: string };
  inFlight = 0;
  // Every counter exists from the start: an alert on an increase misses a counter that first appears as 1.
  readonly outcomes = new Map<string, number>(['completed', 'cancelled', ...FAILURE_CODES].map((outcome) => [outcome, 0]));
  readonly errors = new Map<FailureKind, number>(FAILURE_KINDS.map((kind) => [kind, 0]));
  readonly tokens = { prompt: 0, cached: 0, output: 0, reasoning: 0 };
  private readonly genAi: Record<string, string>;
  private readonly input: Record<string, string>;
  private readonly output: Record<string, string>;

  constructor(
    upstream: Pick<Upstream, 'id' | 'kind'>,
    model: string,
    upstreamModel: string,
    private readonly histograms: CallHistograms,
  ) {
    this.labels = { upstream: upstream.id, model, upstream_model: upstreamModel };
    const conventional = { gen_ai_operation_name: 'chat', gen_ai_provider_name: providerOf(upstream), gen_ai_request_model: upstreamModel };
    this.genAi = { upstream: upstream.id, model, ...conventional };
    this.input = { ...this.genAi, gen_ai_token_type: 'input' };
    this.output = { ...this.genAi, gen_ai_token_type: 'output' };
  }

  ended({ outcome, failure, isStream, durationMs, firstContentMs, usage }: EndedCall): void {
    const { genAi, histograms } = this;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    if (failure !== undefined) this.errors.set(failure.kind, (this.errors.get(failure.kind) ?? 0) + 1);
    const isComplete = outcome === 'completed';
    histograms.duration.observe(isComplete ? genAi : { ...genAi, error_type: failure?.kind ?? outcome }, durationMs / 1_000);
    if (usage !== undefined) this.count(usage);
    if (!isStream || firstContentMs === undefined) return;
    histograms.firstToken.observe(genAi, firstContentMs / 1_000);
    const outputTokens = usage?.outputTokens ?? 0;
    if (outputTokens > 1) histograms.perToken.observe(genAi, (durationMs - firstContentMs) / (outputTokens - 1) / 1_000);
  }

  private count({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): void {
    const { tokens } = this;
    tokens.prompt += promptTokens;
    tokens.cached += cachedTokens;
    tokens.output += outputTokens;
    tokens.reasoning += reasoningTokens;
    this.histograms.tokenUsage.observe(this.input, promptTokens);
    this.histograms.tokenUsage.observe(this.output, outputTokens);
  }
}
