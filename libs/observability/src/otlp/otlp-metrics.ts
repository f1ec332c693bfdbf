import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type HistogramMetricData,
  type MetricData,
  type MetricDescriptor,
} from '@opentelemetry/sdk-metrics';
import type { Registry } from 'prom-client';

/** A metric of a registry. The library's type has a wrong `type`, and no `metricName`. */
interface RegistryMetric {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram' | 'summary';
  values: RegistryValue[];
}

interface RegistryValue {
  value: number;
  labels: Labels;
  /** Name of a histogram with `_bucket`, `_sum` or `_count`. Absent for other types. */
  metricName?: string;
}

type Labels = Partial<Record<string, string | number>>;

/** Counters and histograms count from the start of the process. */
const STARTED_AT = hrTime(performance.timeOrigin);

/** Returns the metrics of a registry that have values, in the form that the exporter takes. */
export async function otlpMetrics(registry: Registry): Promise<MetricData[]> {
  const metrics = (await registry.getMetricsAsJSON()) as unknown as RegistryMetric[];
  const now = hrTime(Date.now());
  return metrics.filter(({ values }) => values.length > 0).map((metric) => otlpMetric(metric, now));
}

function otlpMetric(metric: RegistryMetric, endTime: HrTime): MetricData {
  const common = { descriptor: toDescriptor(metric), aggregationTemporality: AggregationTemporality.CUMULATIVE };
  const isConventional = metric.name in CONVENTIONAL_NAMES;
  const point = <Value>(labels: Labels, value: Value): DataPoint<Value> => ({
    startTime: STARTED_AT,
    endTime,
    attributes: toAttributes(labels, isConventional),
    value,
  });
  const numbers = () => metric.values.map(({ labels, value }) => point(labels, value));
  switch (metric.type) {
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers() };
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: numbers() };
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histogramPoints(metric.values, point) };
    case 'summary':
      throw new Error(`${metric.name}: OpenTelemetry has no summaries`);
  }
}

function toDescriptor({ name, help }: RegistryMetric): MetricDescriptor {
  const { name: otlpName, unit } = CONVENTIONAL_NAMES[name] ?? { name, unit: '' };
  return { name: otlpName, unit, description: help, valueType: ValueType.DOUBLE };
}

function toAttributes(labels: Labels, isConventional: boolean): Attributes {
  return Object.fromEntries(
    Object.entries(labels).map(([label, value]) => [(isConventional && CONVENTIONAL_ATTRIBUTES[label]) || label, String(value)]),
  );
}

/** Values of a series follow one another: its buckets, each of which counts those below too, then the sum, then the count. */
function histogramPoints(
  values: readonly RegistryValue[],
  point: (labels: Labels, value: Histogram) => DataPoint<Histogram>,
): HistogramMetricData['dataPoints'] {
  const points: DataPoint<Histogram>[] = [];
  let boundaries: number[] = [];
  let counts: number[] = [];
  let below = 0;
  let sum = 0;
  for (const { labels, value, metricName } of values) {
    if (metricName?.endsWith('_bucket')) {
      if (labels.le !== '+Inf') boundaries.push(Number(labels.le));
      counts.push(value - below);
      below = value;
    } else if (metricName?.endsWith('_sum')) {
      sum = value;
    } else {
      points.push(point(labels, { buckets: { boundaries, counts }, sum, count: value }));
      boundaries = [];
      counts = [];
      below = 0;
    }
  }
  return points;
}

function hrTime(unixMs: number): HrTime {
  const ms = Math.trunc(unixMs);
  return [Math.trunc(ms / 1_000), (ms % 1_000) * 1_000_000];
}

/** The name and unit that OpenTelemetry's conventions give to a metric. */
interface ConventionalName {
  name: string;
  unit: string;
}

/** Metrics of the conventions for generative AI, by their names for Prometheus. All others keep those names. */
const CONVENTIONAL_NAMES: Readonly<Record<string, ConventionalName>> = {
  gen_ai_client_operation_duration_seconds: { name: 'gen_ai.client.operation.duration', unit: 's' },
  gen_ai_client_operation_time_to_first_chunk_seconds: { name: 'gen_ai.client.operation.time_to_first_chunk', unit: 's' },
  gen_ai_client_operation_time_per_output_chunk_seconds: { name: 'gen_ai.client.operation.time_per_output_chunk', unit: 's' },
  gen_ai_server_time_per_output_token_seconds: { name: 'gen_ai.server.time_per_output_token', unit: 's' },
  gen_ai_client_token_usage: { name: 'gen_ai.client.token.usage', unit: '{token}' },
};

/** Attributes of the conventions, by their names as labels. */
const CONVENTIONAL_ATTRIBUTES: Readonly<Record<string, string>> = {
  gen_ai_operation_name: 'gen_ai.operation.name',
  gen_ai_provider_name: 'gen_ai.provider.name',
  gen_ai_request_model: 'gen_ai.request.model',
  gen_ai_token_type: 'gen_ai.token.type',
  error_type: 'error.type',
};
