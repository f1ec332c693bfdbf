import { IsBoolean, IsIn, IsInt, IsNumber, Max, Min } from 'class-validator';
import { IsUrlOrNothing, OtlpConfig } from '#observability/otlp/otlp.config.js';

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

/**
 * Settings of traces, under the names that OpenTelemetry's specification gives them. The exporter reads `OTEL_EXPORTER_OTLP_*` itself, and
 * the resource is made of `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 */
export class TracingConfig extends OtlpConfig {
  @IsUrlOrNothing() otelExporterOtlpTracesEndpoint = '';
  @IsIn(['http/protobuf']) otelExporterOtlpTracesProtocol = 'http/protobuf';
  @IsIn(SAMPLERS) otelTracesSampler: SamplerName = 'parentbased_always_on';
  /** Fraction of traces that a sampler with `traceidratio` chooses. */
  @IsNumber() @Min(0) @Max(1) otelTracesSamplerArg = 1;
  /** Milliseconds that a span waits for others before the export. */
  @IsInt() @Min(1) otelBspScheduleDelay = 5_000;
  /** Milliseconds after which an export has failed and the next one begins. */
  @IsInt() @Min(1) otelBspExportTimeout = 30_000;
  /** Spans that may wait for their export; further ones are dropped. */
  @IsInt() @Min(1) otelBspMaxQueueSize = 2_048;
  @IsInt() @Min(1) otelBspMaxExportBatchSize = 512;
  /** Milliseconds from which on a request is exported although the sampler left it out, as is each that failed. 0: neither. */
  @IsInt() @Min(0) tracesSlowMs = 30_000;
}

/** The switches that decide whether there are traces at all. Nothing else is read, or refused, while they are off. */
export class TracingSwitches {
  otelExporterOtlpEndpoint = '';
  otelExporterOtlpTracesEndpoint = '';
  @IsBoolean() otelSdkDisabled = false;
  @IsIn(['otlp', 'none']) otelTracesExporter = 'otlp';
}
