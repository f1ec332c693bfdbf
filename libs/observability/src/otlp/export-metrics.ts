import { MeterProvider, type MetricProducer, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import type { Registry } from 'prom-client';
import { VERSION } from '#config/version.js';
import { within } from '../grace.js';
import type { Logger } from '../logger.js';
import type { MetricsExportConfig } from './metrics-export.config.js';
import { MetricsExporter } from './metrics-exporter.js';
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
