import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import { MetricsExporterMetricsHelper, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import {
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Registry } from 'prom-client';
import { VERSION } from '#config/version.js';
import { within } from '../grace.js';
import type { Logger } from '../logger.js';
import type { MetricsExportConfig } from './metrics-export.config.js';
import { otlpMetrics } from './otlp-metrics.js';
import { otlpResource } from './otlp-resource.js';

/** Milliseconds that the last export may take when a service stops. */
const CLOSE_MS = 3_000;

/** The part of a service that the export of its metrics needs. */
export interface MeasuredService {
  /** Name of the service; in the export it is `tollgate-<name>` unless `OTEL_SERVICE_NAME` says otherwise. */
  name: string;
  registry: Registry;
  logger: Logger;
}

export interface MetricsExport {
  /** Exports the last values, for at most a few seconds. */
  close(): Promise<void>;
}

/** Exports the metrics of a service at each interval, and a last time at its end. */
export function exportMetrics({ name, registry, logger }: MeasuredService, config: MetricsExportConfig): MetricsExport {
  const { otelMetricExportInterval: exportIntervalMillis } = config;
  const exportTimeoutMillis = Math.min(config.otelMetricExportTimeout, exportIntervalMillis);
  const resource = otlpResource(name);
  const exporter = new MetricsExporter(exportTimeoutMillis, logger);
  const producer: MetricProducer = {
    async collect() {
      try {
        return { resourceMetrics: { resource, scopeMetrics: [await collectScope(registry)] }, errors: [] };
      } catch (error) {
        exporter.report(error as Error);
        return { resourceMetrics: { resource, scopeMetrics: [] }, errors: [error] };
      }
    },
  };
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis, metricProducers: [producer] });
  const provider = new MeterProvider({ resource, readers: [reader] });
  return { close: () => within(CLOSE_MS, provider.shutdown()) };
}

async function collectScope(registry: Registry) {
  return { scope: { name: 'tollgate', version: VERSION }, metrics: await otlpMetrics(registry) };
}

type Done = Parameters<PushMetricExporter['export']>[1];

/** `ExportResultCode.SUCCESS` of OpenTelemetry. */
const SUCCESS = 0;
/** Exports that may be open: one, and those that have failed for us while a collector that drips its answer keeps them open. */
const EXPORTS_MAX = 4;

/** Sends metrics to the collector of `OTEL_EXPORTER_OTLP_*`, and logs the start and the end of its outages. */
class MetricsExporter implements PushMetricExporter {
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
