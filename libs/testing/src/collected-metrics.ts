import protobuf from 'protobufjs';

/** The part of OpenTelemetry's `metrics_service.proto`, `metrics.proto`, `common.proto` and `resource.proto` that tests read. */
const OTLP = `
syntax = "proto3";
message Request { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeMetrics { repeated Metric metrics = 2; }
message Metric { string name = 1; string description = 2; string unit = 3; oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; } }
message Gauge { repeated NumberDataPoint data_points = 1; }
message Sum { repeated NumberDataPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramDataPoint data_points = 1; int32 aggregation_temporality = 2; }
message NumberDataPoint { fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; double as_double = 4; repeated KeyValue attributes = 7; }
message HistogramDataPoint {
  fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4; double sum = 5; repeated fixed64 bucket_counts = 6;
  repeated double explicit_bounds = 7; repeated KeyValue attributes = 9;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { string string_value = 1; }
`;
const REQUEST = protobuf.parse(OTLP).root.lookupType('Request');
const TEMPORALITIES = ['unspecified', 'delta', 'cumulative'];

interface CollectedPoint {
  attributes: Record<string, string>;
  startMs: number;
  atMs: number;
  /** Set for a counter or a gauge. */
  value?: number;
  /** Set for a histogram, as are the next three. `counts` has one more than `bounds`. */
  sum?: number;
  count?: number;
  bounds?: number[];
  counts?: number[];
}

export interface CollectedMetric {
  name: string;
  unit: string;
  help: string;
  kind: 'gauge' | 'sum' | 'histogram';
  temporality?: string;
  isMonotonic?: boolean;
  points: CollectedPoint[];
}

/** One export of one service. */
export interface CollectedExport {
  resource: Record<string, string>;
  metrics: CollectedMetric[];
}

// biome-ignore lint/suspicious/noExplicitAny: protobufjs decodes to plain objects of the schema above.
type Decoded = any;

/** Decodes the body of an export of metrics. */
export function decodeMetrics(body: Buffer): CollectedExport[] {
  const { resourceMetrics }: Decoded = REQUEST.toObject(REQUEST.decode(body), { longs: Number, defaults: true, oneofs: true });
  return resourceMetrics.map(({ resource, scopeMetrics }: Decoded) => ({
    resource: readAttributes(resource.attributes),
    metrics: scopeMetrics.flatMap(({ metrics }: Decoded) => metrics.map(toMetric)),
  }));
}

function toMetric({ name, unit, description: help, data: kind, ...all }: Decoded): CollectedMetric {
  const { dataPoints, aggregationTemporality, isMonotonic } = all[kind];
  return {
    ...{ name, unit, help, kind },
    ...(aggregationTemporality !== undefined && { temporality: TEMPORALITIES[aggregationTemporality] }),
    ...(isMonotonic !== undefined && { isMonotonic }),
    points: dataPoints.map((point: Decoded) => ({
      attributes: readAttributes(point.attributes),
      startMs: point.startTimeUnixNano / 1e6,
      atMs: point.timeUnixNano / 1e6,
      ...(kind === 'histogram'
        ? { sum: point.sum, count: point.count, bounds: point.explicitBounds, counts: point.bucketCounts }
        : { value: point.asDouble }),
    })),
  };
}

function readAttributes(list: Decoded[]): Record<string, string> {
  return Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue]));
}
