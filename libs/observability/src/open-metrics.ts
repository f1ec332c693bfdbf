import { Histogram, type HistogramConfiguration, type OpenMetricsContentType, Registry } from 'prom-client';

export const { OPENMETRICS_CONTENT_TYPE } = Registry;

/** Registers a histogram whose values may have exemplars, which only OpenMetrics shows. The library refuses to do it in one step. */
export function histogramWithExemplars(
  registry: Registry,
  config: Omit<HistogramConfiguration<string>, 'registers' | 'enableExemplars'>,
): Histogram<string> {
  const histogram = new Histogram<string>({ ...config, registers: [], enableExemplars: true });
  registry.registerMetric(histogram);
  return histogram;
}

/** Returns all metrics as OpenMetrics, the format that has exemplars, with `labels` on each. */
export function openMetrics(registry: Registry, labels: Record<string, string> = {}): Promise<string> {
  const renamed = new Registry<OpenMetricsContentType>();
  renamed.setContentType(OPENMETRICS_CONTENT_TYPE);
  renamed.setDefaultLabels(labels);
  // The library takes `_total` off the names of counters when it writes this format: only a copy may be renamed.
  for (const metric of registry.getMetricsAsArray()) renamed.registerMetric(Object.create(metric));
  return renamed.metrics();
}
