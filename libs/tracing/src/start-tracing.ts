import { loadConfig } from '#config/load-config.js';
import type { TracedService } from './otel-tracer.js';
import type { Tracer } from './tracer.js';
import { TracingConfig, TracingSwitches } from './tracing.config.js';

/** Returns the tracer of a service; undefined while no endpoint is set. OpenTelemetry is not even loaded then. */
export async function startTracing(service: TracedService): Promise<Tracer | undefined> {
  const { otelExporterOtlpEndpoint, otelExporterOtlpTracesEndpoint, ...switches } = loadConfig(TracingSwitches);
  const hasEndpoint = otelExporterOtlpEndpoint !== '' || otelExporterOtlpTracesEndpoint !== '';
  if (!hasEndpoint || switches.otelSdkDisabled || switches.otelTracesExporter === 'none') return undefined;
  const config = loadConfig(TracingConfig);
  const { createTracer } = await import('./otel-tracer.js');
  return createTracer(service, config);
}
