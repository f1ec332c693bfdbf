import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Usage } from '#inference/usage.js';

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const LABELS = ['upstream', 'model'] as const;

/** `completed`, `cancelled`, or the code of the failure. */
export type CallOutcome = string;

/** The series of one route, with their labels bound once: looking them up for every call would cost more than the counting. */
export interface RouteMetrics {
  inFlight: { inc(): void; dec(): void };
  /** One call of the upstream has ended. Times are in milliseconds. */
  ended(call: { outcome: CallOutcome; durationMs: number; firstContentMs: number | undefined; usage: Usage | undefined }): void;
}

/** What an operator sees of the upstreams, per upstream and (our) model. */
export class ProxyMetrics {
  private readonly inFlight: Gauge<'upstream' | 'model'>;
  private readonly calls: Counter<'upstream' | 'model' | 'outcome'>;
  private readonly duration: Histogram<'upstream' | 'model'>;
  private readonly firstContent: Histogram<'upstream' | 'model'>;
  private readonly tokens: Counter<'upstream' | 'model' | 'kind'>;
  private readonly routes = new Map<string, RouteMetrics>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.inFlight = new Gauge({ name: 'tollgate_upstream_calls_in_flight', help: 'Calls under way', labelNames: LABELS, registers });
    this.calls = new Counter({
      name: 'tollgate_upstream_calls_total',
      help: 'Calls ended, by outcome: completed, cancelled, or the code of the failure',
      labelNames: [...LABELS, 'outcome'],
      registers,
    });
    this.duration = new Histogram({
      name: 'tollgate_upstream_call_duration_seconds',
      help: 'From request to the last byte',
      labelNames: LABELS,
      buckets: SECONDS,
      registers,
    });
    this.firstContent = new Histogram({
      name: 'tollgate_upstream_time_to_first_content_seconds',
      help: 'From request to the first content',
      labelNames: LABELS,
      buckets: SECONDS,
      registers,
    });
    this.tokens = new Counter({
      name: 'tollgate_upstream_tokens_total',
      help: 'Tokens of calls that returned content; cached is a part of prompt, reasoning of output',
      labelNames: [...LABELS, 'kind'],
      registers,
    });
  }

  ofRoute(upstream: string, model: string): RouteMetrics {
    const key = `${upstream}\n${model}`;
    const known = this.routes.get(key);
    if (known !== undefined) return known;
    const bound = this.bind(upstream, model);
    this.routes.set(key, bound);
    return bound;
  }

  private bind(upstream: string, model: string): RouteMetrics {
    const labels = { upstream, model };
    const duration = this.duration.labels(labels);
    const firstContent = this.firstContent.labels(labels);
    const kinds = (['prompt', 'cached', 'output', 'reasoning'] as const).map((kind) => this.tokens.labels({ ...labels, kind }));
    const [prompt, cached, output, reasoning] = kinds;
    return {
      inFlight: this.inFlight.labels(labels),
      ended: ({ outcome, durationMs, firstContentMs, usage }) => {
        this.calls.inc({ ...labels, outcome });
        duration.observe(durationMs / 1000);
        if (firstContentMs !== undefined) firstContent.observe(firstContentMs / 1000);
        if (usage === undefined) return;
        prompt?.inc(usage.promptTokens);
        cached?.inc(usage.cachedTokens);
        output?.inc(usage.outputTokens);
        reasoning?.inc(usage.reasoningTokens);
      },
    };
  }
}
