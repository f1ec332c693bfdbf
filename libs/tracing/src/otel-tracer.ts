import { randomUUID } from 'node:crypto';
import {
  type Attributes,
  type Context,
  createTraceState,
  type Link,
  type Span as OtelApiSpan,
  type Tracer as OtelApiTracer,
  SpanKind as OtelKind,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Registry } from 'prom-client';
import { VERSION } from '#config/version.js';
import { within } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { registerSpanCounts, SpanQueue } from './span-queue.js';
import { LOCAL_TRACE, LocalTrace, TailProcessor } from './tail-processor.js';
import type { TraceContext } from './trace-context.js';
import type { RootOptions, Span, SpanAttributes, SpanKind, Tracer } from './tracer.js';
import type { SamplerName, TracingConfig } from './tracing.config.js';

/** Milliseconds that the last export may take when a service stops. */
const CLOSE_MS = 3_000;
/** Longest text of an attribute. Ids and names of models are shorter; a client can choose neither. */
const TEXT_MAX = 256;

const KINDS: Record<SpanKind, OtelKind> = { server: OtelKind.SERVER, client: OtelKind.CLIENT };

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
  const queue = new SpanQueue(new OTLPTraceExporter(), limits, service.logger);
  registerSpanCounts(service.registry, queue.counts);
  const provider = new TracerProvider({
    resource: resourceOf(service.name),
    sampler: new TailSampler(samplerOf(config.otelTracesSampler, config.otelTracesSamplerArg), tracesSlowMs > 0),
    spanProcessors: [new TailProcessor(queue, tracesSlowMs)],
    spanLimits: { attributeValueLengthLimit: TEXT_MAX },
  });
  return new OtelTracer(provider.getTracer('tollgate', VERSION), queue, tracesSlowMs > 0);
}

function resourceOf(service: string) {
  const own = { 'service.name': `tollgate-${service}`, 'service.version': VERSION, 'service.instance.id': randomUUID() };
  return defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }));
}

function samplerOf(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  }
}

/** Samples what `head` samples, and every span that serves a sampled one. Records the rest if `TailProcessor` may export it. */
class TailSampler implements Sampler {
  constructor(
    private readonly head: Sampler,
    private readonly recordsAll: boolean,
  ) {}

  shouldSample(context: Context, traceId: string, name: string, kind: OtelKind, attributes: Attributes, links: Link[]): SamplingResult {
    if (links.some((link) => isSampled(link.context))) return { decision: SamplingDecision.RECORD_AND_SAMPLED };
    const result = this.head.shouldSample(context, traceId, name, kind, attributes, links);
    if (!this.recordsAll || result.decision !== SamplingDecision.NOT_RECORD) return result;
    return { ...result, decision: SamplingDecision.RECORD };
  }
}

class OtelTracer implements Tracer {
  constructor(
    private readonly tracer: OtelApiTracer,
    private readonly queue: SpanQueue,
    /** True when spans that are not sampled may be exported too. */
    private readonly recordsAll: boolean,
  ) {}

  startRoot(name: string, kind: SpanKind, { parent, attributes = {}, links = [] }: RootOptions = {}): Span {
    const local = this.recordsAll ? ROOT_CONTEXT.setValue(LOCAL_TRACE, new LocalTrace()) : ROOT_CONTEXT;
    const context = parent === undefined ? local : trace.setSpanContext(local, remoteContext(parent));
    const linked = links.map((link) => ({ context: spanContextOf(link) }));
    return new OtelSpan(this.tracer, context, name, kind, attributes, linked);
  }

  async close(): Promise<void> {
    await within(CLOSE_MS, this.queue.flush());
  }
}

class OtelSpan implements Span {
  private readonly span: OtelApiSpan;
  private readonly isRecorded: boolean;

  constructor(
    private readonly tracer: OtelApiTracer,
    private readonly parent: Context,
    name: string,
    kind: SpanKind,
    attributes: SpanAttributes,
    links: Link[] = [],
  ) {
    this.span = tracer.startSpan(name, { kind: KINDS[kind], links }, parent);
    this.isRecorded = this.span.isRecording();
    this.set(attributes);
  }

  get spanContext(): SpanContext {
    return this.span.spanContext();
  }

  get traceId(): string {
    return this.spanContext.traceId;
  }

  get isSampled(): boolean {
    return isSampled(this.spanContext);
  }

  get context(): TraceContext {
    const { traceId, spanId, traceState } = this.spanContext;
    return { traceparent: `00-${traceId}-${spanId}-${this.isSampled ? '01' : '00'}`, tracestate: traceState?.serialize() || undefined };
  }

  /** Returns this span if nothing of the trace is recorded: its context says so to the services behind. */
  startChild(name: string, kind: SpanKind, attributes: SpanAttributes = {}): Span {
    if (!this.isRecorded) return this;
    return new OtelSpan(this.tracer, trace.setSpan(this.parent, this.span), name, kind, attributes);
  }

  set(attributes: SpanAttributes): void {
    if (!this.isRecorded) return;
    for (const key in attributes) {
      const value = attributes[key];
      if (value !== undefined) this.span.setAttribute(key, value);
    }
  }

  addEvent(name: string, attributes?: SpanAttributes, at?: number): void {
    this.span.addEvent(name, attributes, at);
  }

  linkTo(other: Span): void {
    this.span.addLink({ context: spanContextOf(other) });
  }

  fail(errorType: string): void {
    this.span.setAttribute('error.type', errorType);
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.span.end();
  }
}

function spanContextOf(span: Span): SpanContext {
  return (span as OtelSpan).spanContext;
}

function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & TraceFlags.SAMPLED) !== 0;
}

/** Returns the parsed context of another process. `parseTraceContext` has checked it. */
function remoteContext({ traceparent, tracestate }: TraceContext): SpanContext {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16) & TraceFlags.SAMPLED,
    isRemote: true,
    traceState: tracestate === undefined ? undefined : createTraceState(tracestate),
  };
}
