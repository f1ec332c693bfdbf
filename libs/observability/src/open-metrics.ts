import { Histogram, type HistogramConfiguration, type OpenMetricsContentType, type PrometheusContentType, Registry } from 'prom-client';

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

/**
 * Returns all metrics with `labels` on each: as OpenMetrics, the format that has exemplars, or in Prometheus' older text format.
 */
export function writeMetrics(registry: Registry, isOpen: boolean, labels: Record<string, string> = {}): Promise<string> {
  const copy = new Registry<OpenMetricsContentType | PrometheusContentType>();
  if (isOpen) copy.setContentType(OPENMETRICS_CONTENT_TYPE);
  copy.setDefaultLabels(labels);
  // The library takes `_total` off the names of counters when it writes OpenMetrics: only a copy may be renamed.
  for (const metric of registry.getMetricsAsArray()) copy.registerMetric(Object.create(metric));
  return copy.metrics();
}
