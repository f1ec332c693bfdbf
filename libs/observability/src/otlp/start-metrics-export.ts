import { loadConfig } from '#config/load-config.js';
import type { MeasuredService, MetricsExport } from './export-metrics.js';
import { MetricsExportConfig, MetricsExportSwitches } from './metrics-export.config.js';

/** Exports the metrics of a service by OTLP if the settings say so. Returns undefined otherwise: OpenTelemetry is not even loaded then. */
export async function startMetricsExport(service: MeasuredService): Promise<MetricsExport | undefined> {
  const { otelExporterOtlpMetricsEndpoint, otelMetricsExporter, otelSdkDisabled } = loadConfig(MetricsExportSwitches);
  const isWanted = otelMetricsExporter === 'otlp' || (otelMetricsExporter === '' && otelExporterOtlpMetricsEndpoint !== '');
  if (!isWanted || otelSdkDisabled) return undefined;
  const config = loadConfig(MetricsExportConfig);
  const { exportMetrics } = await import('./export-metrics.js');
  return exportMetrics(service, config);
}
