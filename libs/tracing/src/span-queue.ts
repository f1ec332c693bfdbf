import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { Counter, type Registry } from 'prom-client';
import type { Logger } from '#observability/logger.js';
import type { RecordedSpan } from './recorded-span.js';

/** `ExportResultCode.SUCCESS` of OpenTelemetry. */
const SUCCESS = 0;
/** Bytes of waiting spans, by `measureBytes`: a queue of the default length with attributes of usual length takes a tenth of it. */
const BYTES_MAX = 8 * 1024 * 1024;

export interface QueueLimits {
  spansMax: number;
  batchMax: number;
  delayMs: number;
  exportTimeoutMs: number;
}

/** Number of spans since the start of the process, by their end. */
export interface SpanCounts {
  exported: number;
  /** The collector did not take them. */
  failed: number;
  /** There was no room for them. */
  dropped: number;
}

/**
 * Spans on their way to the collector. One export runs at a time, and what ends meanwhile waits. A collector that is slow or away costs at
 * most this queue and a few batches of memory, and no request waits for it.
 */
export class SpanQueue {
  readonly counts: SpanCounts = { exported: 0, failed: 0, dropped: 0 };
  private spans: RecordedSpan[] = [];
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  /** True during an outage of the collector, which is logged at its start and end only. */
  private isFailing = false;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly convert: (span: RecordedSpan) => ReadableSpan,
    private readonly limits: QueueLimits,
    private readonly logger: Logger,
  ) {}

  push(span: RecordedSpan): void {
    const bytes = measureBytes(span);
    if (this.spans.length >= this.limits.spansMax || this.bytes + bytes > BYTES_MAX) {
      this.counts.dropped += 1;
      return;
    }
    this.spans.push(span);
    this.bytes += bytes;
    if (this.running !== undefined) return;
    if (this.spans.length >= this.limits.batchMax) this.start();
    else this.timer ??= setTimeout(() => this.start(), this.limits.delayMs).unref();
  }

  /** Exports everything that waits now. Never rejects. */
  async flush(): Promise<void> {
    while (this.running !== undefined || this.spans.length > 0) {
      if (this.running === undefined) this.start();
      await this.running;
    }
  }

  private start(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.running = this.exportBatches().finally(() => {
      this.running = undefined;
      if (this.spans.length > 0) this.timer ??= setTimeout(() => this.start(), this.limits.delayMs).unref();
    });
  }

  /** Exports a batch, and further ones while they are full. */
  private async exportBatches(): Promise<void> {
    do {
      const batch = this.spans.splice(0, this.limits.batchMax);
      for (const span of batch) this.bytes -= measureBytes(span);
      const failure = await this.send(batch);
      this.counts[failure === undefined ? 'exported' : 'failed'] += batch.length;
      this.report(failure);
    } while (this.spans.length >= this.limits.batchMax);
  }

  /** Resolves with the failure, if any. The exporter itself repeats an export that may succeed, within its own timeout. */
  private send(batch: readonly RecordedSpan[]): Promise<Error | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(new Error('no answer within OTEL_BSP_EXPORT_TIMEOUT')), this.limits.exportTimeoutMs);
      const done = (failure: Error | undefined): void => {
        clearTimeout(timer);
        resolve(failure);
      };
      try {
        this.exporter.export(batch.map(this.convert), ({ code, error }) =>
          done(code === SUCCESS ? undefined : (error ?? new Error('export failed'))),
        );
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** Logs no text of the collector, which could be long or contain anything. */
  private report(failure: Error | undefined): void {
    if (failure !== undefined && !this.isFailing) {
      const { code } = failure as { code?: unknown };
      this.logger.warn({ name: failure.name, code, spans: this.counts.failed }, 'trace collector does not take spans: they are lost');
    }
    if (failure === undefined && this.isFailing) this.logger.info(this.counts, 'trace collector takes spans again');
    this.isFailing = failure !== undefined;
  }
}

/** Registers the counter of spans. */
export function registerSpanCounts(registry: Registry, counts: SpanCounts): void {
  new Counter({
    name: 'tollgate_trace_spans_total',
    help: 'Spans by their end: exported, failed (the collector did not take them), dropped (no room)',
    labelNames: ['outcome'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [outcome, count] of Object.entries(counts)) this.inc({ outcome }, count);
    },
  });
}

/** Bytes of ids, times and objects of a span, and of each event. A link keeps its span in memory. */
const SPAN_BYTES = 512;
const EVENT_BYTES = 160;

/** Estimates the memory of a span. */
function measureBytes({ attributes, events, links }: RecordedSpan): number {
  let bytes = SPAN_BYTES * (1 + (links?.length ?? 0)) + EVENT_BYTES * (events?.length ?? 0);
  for (const part of attributes)
    for (const key in part) {
      const value = part[key];
      bytes += 32 + (typeof value === 'string' ? value.length : 0);
    }
  return bytes;
}
