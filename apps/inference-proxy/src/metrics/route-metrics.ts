import type { Upstream } from '#contracts/catalog.js';
import { DIALECTS } from '#contracts/dialects.js';
import type { Usage } from '#inference/usage.js';
import type { BoundHistogram, HistogramSeries } from '#observability/bound-histogram.js';
import { FAILURE_CODES, FAILURE_KINDS, type FailureKind, type UpstreamFailure } from '../failures/upstream-failure.js';
import { ODDITY_KINDS, type Oddity } from '../upstreams/upstream-adapter.js';

/** The end of an upstream call. */
export interface CallEnd {
  /** `completed`, `cancelled`, or the code of the failure. */
  outcome: string;
  failure: UpstreamFailure | undefined;
  /** Undefined when no content was returned. */
  usage: Usage | undefined;
  /** Output tokens that the upstream counted beyond the cap. Absent: none. */
  unbilledTokens?: number;
}

/** One upstream call that has ended. Times are in milliseconds. */
export interface EndedCall extends CallEnd {
  isStream: boolean;
  durationMs: number;
  firstContentMs: number | undefined;
  /** Chunks after the one with the first content. */
  laterChunks: number;
  /** Trace of the call, if it is sampled. */
  traceId?: string | undefined;
}

/** Histograms that all routes share. */
export interface CallHistograms {
  duration: BoundHistogram;
  firstToken: BoundHistogram;
  perChunk: BoundHistogram;
  perToken: BoundHistogram;
  tokenUsage: BoundHistogram;
}

/** Value of `gen_ai.operation.name` in OpenTelemetry's conventions. */
export type Operation = 'chat' | 'embeddings';

/** Returns the value of `gen_ai.provider.name` in OpenTelemetry's conventions. */
export function providerName({ kind }: Pick<Upstream, 'kind'>): string {
  return DIALECTS[kind].provider;
}

/** Counts the calls of one route since the start of the process. */
export class RouteMetrics {
  readonly labels: { upstream: string; model: string; upstream_model: string };
  inFlight = 0;
  // Every counter exists from the start: an alert on an increase misses a counter that first appears as 1.
  readonly outcomes = new Map<string, number>(['completed', 'cancelled', ...FAILURE_CODES].map((outcome) => [outcome, 0]));
  // Without a credential nothing is sent, so nothing is counted (`RouteState.ended`).
  readonly errors = new Map<FailureKind, number>(FAILURE_KINDS.filter((kind) => kind !== 'credential').map((kind) => [kind, 0]));
  readonly oddities = new Map<string, number>(ODDITY_KINDS.map((kind) => [kind, 0]));
  readonly tokens = { prompt: 0, cached: 0, output: 0, reasoning: 0 };
  unbilledTokens = 0;
  /** Absent: the route never had a cost price. */
  costPicoUsd: number | undefined;
  private readonly findDuration: (errorType: string | undefined) => HistogramSeries;
  private readonly firstToken: HistogramSeries;
  private readonly perChunk: HistogramSeries;
  private readonly perToken: HistogramSeries;
  private readonly inputTokens: HistogramSeries;
  private readonly outputTokens: HistogramSeries;

  constructor(
    upstream: Pick<Upstream, 'id' | 'kind'>,
    model: string,
    upstreamModel: string,
    operation: Operation,
    histograms: CallHistograms,
  ) {
    this.labels = { upstream: upstream.id, model, upstream_model: upstreamModel };
    const conventional = {
      gen_ai_operation_name: operation,
      gen_ai_provider_name: providerName(upstream),
      gen_ai_request_model: upstreamModel,
    };
    const genAi = { upstream: upstream.id, model, ...conventional };
    this.findDuration = seriesByError(histograms.duration, genAi);
    this.firstToken = histograms.firstToken.bind(genAi);
    this.perChunk = histograms.perChunk.bind(genAi);
    this.perToken = histograms.perToken.bind(genAi);
    this.inputTokens = histograms.tokenUsage.bind({ ...genAi, gen_ai_token_type: 'input' });
    this.outputTokens = histograms.tokenUsage.bind({ ...genAi, gen_ai_token_type: 'output' });
  }

  ended({ outcome, failure, isStream, durationMs, firstContentMs, laterChunks, usage, unbilledTokens = 0, traceId }: EndedCall): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    if (failure !== undefined) this.errors.set(failure.kind, (this.errors.get(failure.kind) ?? 0) + 1);
    this.findDuration(outcome === 'completed' ? undefined : (failure?.kind ?? outcome)).observe(durationMs / 1_000, traceId);
    if (usage !== undefined) this.count(usage);
    this.unbilledTokens += unbilledTokens;
    if (!isStream || firstContentMs === undefined) return;
    this.firstToken.observe(firstContentMs / 1_000, traceId);
    if (outcome !== 'completed') return; // the time to the end may be that of a timeout
    const restSeconds = (durationMs - firstContentMs) / 1_000;
    const laterTokens = (usage?.outputTokens ?? 0) - 1;
    if (laterChunks > 0) this.perChunk.observe(restSeconds / laterChunks, traceId);
    if (laterTokens > 0) this.perToken.observe(restSeconds / laterTokens, traceId);
  }

  /** Adds to the cost of the calls. A float, for graphs only. */
  paid(cost: bigint): void {
    this.costPicoUsd = (this.costPicoUsd ?? 0) + Number(cost);
  }

  odd(kind: Oddity['kind']): void {
    this.oddities.set(kind, (this.oddities.get(kind) ?? 0) + 1);
  }

  private count({ promptTokens, cachedTokens, outputTokens, reasoningTokens }: Usage): void {
    const { tokens } = this;
    tokens.prompt += promptTokens;
    tokens.cached += cachedTokens;
    tokens.output += outputTokens;
    tokens.reasoning += reasoningTokens;
    this.inputTokens.observe(promptTokens);
    this.outputTokens.observe(outputTokens);
  }
}

/** Returns a function that finds or binds the series of an `error_type`. */
function seriesByError(histogram: BoundHistogram, labels: Record<string, string>): (errorType: string | undefined) => HistogramSeries {
  const all = new Map<string | undefined, HistogramSeries>();
  return (errorType) => {
    const series = all.get(errorType) ?? histogram.bind(errorType === undefined ? labels : { ...labels, error_type: errorType });
    all.set(errorType, series);
    return series;
  };
}
