import { IsBoolean, IsIn, IsInt, Min } from 'class-validator';
import { IsUrlOrNothing, OtlpConfig } from './otlp.config.js';

/**
 * Settings of metrics by OTLP, under the names that OpenTelemetry's specification gives them. The exporter reads `OTEL_EXPORTER_OTLP_*`
 * itself.
 */
export class MetricsExportConfig extends OtlpConfig {
  @IsUrlOrNothing() otelExporterOtlpMetricsEndpoint = '';
  @IsIn(['http/protobuf']) otelExporterOtlpMetricsProtocol = 'http/protobuf';
  /** Prometheus' metrics are totals since the start of the process, so differences are refused. */
  @IsIn(['cumulative']) otelExporterOtlpMetricsTemporalityPreference = 'cumulative';
  /** Milliseconds between two exports. */
  @IsInt() @Min(1) otelMetricExportInterval = 60_000;
  /** Milliseconds after which an export has failed, at most the interval. */
  @IsInt() @Min(1) otelMetricExportTimeout = 30_000;
}

/** The switches that decide whether metrics are exported by OTLP at all. Nothing else is read, or refused, while they are off. */
export class MetricsExportSwitches {
  otelExporterOtlpMetricsEndpoint = '';
  @IsBoolean() otelSdkDisabled = false;
  /** Empty: `otlp` if there is an endpoint for metrics. `prometheus`, which scrapes in any case, is the same as `none`. */
  @IsIn(['', 'otlp', 'prometheus', 'none']) otelMetricsExporter = '';
}
