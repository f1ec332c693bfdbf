import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import { MetricsExporterMetricsHelper, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import type { PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { Logger } from '../logger.js';

type Done = Parameters<PushMetricExporter['export']>[1];

/** `ExportResultCode.SUCCESS` of OpenTelemetry. */
const SUCCESS = 0;
/** Exports that may be open: one, and those that have failed for us while a collector that drips its answer keeps them open. */
const EXPORTS_MAX = 4;

/** Sends metrics to the collector of `OTEL_EXPORTER_OTLP_*`, and logs the start and the end of its outages. */
export class MetricsExporter implements PushMetricExporter {
  private readonly otlp = new OTLPExporterBase<ResourceMetrics>(
    createOtlpHttpExportDelegate(
      convertLegacyHttpOptions({ concurrencyLimit: EXPORTS_MAX }, 'METRICS', 'v1/metrics', { 'Content-Type': 'application/x-protobuf' }),
      ProtobufMetricsSerializer,
      'otlp_http_metric_exporter',
      MetricsExporterMetricsHelper,
      undefined,
    ),
  );
  private isFailing = false;

  constructor(
    private readonly timeoutMs: number,
    private readonly logger: Logger,
  ) {}

  /** A failed export is not repeated later: the next one has the same totals. */
  export(metrics: ResourceMetrics, done: Done): void {
    const finish: Done = (result) => {
      clearTimeout(timer);
      this.report(result.code === SUCCESS ? undefined : (result.error ?? new Error('export failed')));
      done(result);
    };
    const timer = setTimeout(() => this.report(new Error('no answer within OTEL_METRIC_EXPORT_TIMEOUT')), this.timeoutMs).unref();
    this.otlp.export(metrics, finish);
  }

  /** Logs no text of the collector, which could be long or contain anything. */
  report(failure: Error | undefined): void {
    if (failure !== undefined && !this.isFailing) {
      const { code } = failure as { code?: unknown };
      this.logger.warn({ name: failure.name, code }, 'metrics cannot be exported');
    }
    if (failure === undefined && this.isFailing) this.logger.info('metrics are exported again');
    this.isFailing = failure !== undefined;
  }

  forceFlush(): Promise<void> {
    return this.otlp.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.otlp.shutdown();
  }
}
