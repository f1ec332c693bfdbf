import { ROOT_CONTEXT } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import type { Registry } from 'prom-client';
import { VERSION } from '#config/version.js';
import { within } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { otlpResource } from '#observability/otlp/otlp-resource.js';
import { otlpSpan } from './otlp-span.js';
import { LocalTrace, RecordedSpan, randomTraceId } from './recorded-span.js';
import { registerSpanCounts, SpanQueue } from './span-queue.js';
import { TailDecision } from './tail-decision.js';
import { isSampled, readTraceId, type TraceContext } from './trace-context.js';
import type { RootOptions, Span, SpanKind, Tracer } from './tracer.js';
import type { SamplerName, TracingConfig } from './tracing.config.js';

/** Milliseconds that the last export may take when a service stops. */
const CLOSE_MS = 3_000;
/** Exports that may be open: one, and those that have failed for us while a collector that drips its answer keeps them open. */
const EXPORTS_MAX = 4;

/** The part of a service that traces need. */
export interface TracedService {
  /** Name of the service; in a trace it is `tollgate-<name>` unless `OTEL_SERVICE_NAME` says otherwise. */
  name: string;
  registry: Registry;
  logger: Logger;
}

/** Returns the tracer that exports to the endpoint of `OTEL_EXPORTER_OTLP_ENDPOINT`. */
export function createTracer(service: TracedService, config: TracingConfig): Tracer {
  const { otelBspMaxQueueSize, otelBspMaxExportBatchSize, otelBspScheduleDelay, otelBspExportTimeout, tracesSlowMs } = config;
  const limits = {
    spansMax: otelBspMaxQueueSize,
    batchMax: Math.min(otelBspMaxExportBatchSize, otelBspMaxQueueSize),
    delayMs: otelBspScheduleDelay,
    exportTimeoutMs: otelBspExportTimeout,
  };
  const origin = { resource: otlpResource(service.name), instrumentationScope: { name: 'tollgate', version: VERSION } };
  const queue = new SpanQueue(
    new OTLPTraceExporter({ concurrencyLimit: EXPORTS_MAX }),
    (span) => otlpSpan(span, origin),
    limits,
    service.logger,
  );
  registerSpanCounts(service.registry, queue.counts);
  return new OtelTracer(new Sampler(config.otelTracesSampler, config.otelTracesSamplerArg), queue, tracesSlowMs);
}

/** Chooses traces at their start. */
class Sampler {
  private readonly ratio: TraceIdRatioBasedSampler;
  private readonly followsParent: boolean;

  constructor(name: SamplerName, ratio: number) {
    this.followsParent = name.startsWith('parentbased_');
    this.ratio = new TraceIdRatioBasedSampler(name.endsWith('always_on') ? 1 : name.endsWith('always_off') ? 0 : ratio);
  }

  samples(traceId: string, parent: TraceContext | undefined): boolean {
    if (parent !== undefined && this.followsParent) return isSampled(parent);
    return this.ratio.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  }
}

class OtelTracer implements Tracer {
  private readonly tail: TailDecision;

  constructor(
    private readonly sampler: Sampler,
    private readonly queue: SpanQueue,
    private readonly slowMs: number,
  ) {
    this.tail = new TailDecision(queue, slowMs);
  }

  startRoot(name: string, kind: SpanKind, { traceId: begun, parent, attributes, links = [] }: RootOptions = {}): Span {
    const traceId = parent === undefined ? (begun ?? randomTraceId()) : readTraceId(parent);
    const isChosen = links.some((link) => link.isSampled) || this.sampler.samples(traceId, parent);
    const parentId = parent === undefined ? '' : parent.traceparent.slice(36, 52);
    const local = new LocalTrace(traceId, parentId, parent?.tracestate, isChosen, isChosen || this.slowMs > 0, this.tail);
    const span = new RecordedSpan(local, undefined, name, kind, attributes);
    for (const link of links) span.linkTo(link);
    return span;
  }

  async close(): Promise<void> {
    await within(CLOSE_MS, this.queue.flush());
  }
}
