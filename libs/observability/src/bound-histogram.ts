import { Histogram, type HistogramConfiguration } from 'prom-client';

interface BucketExemplar {
  labelSet: { trace_id: string };
  value: number;
  /** Seconds since 1970. */
  timestamp: number;
}

/** One series of a `BoundHistogram`. */
export class HistogramSeries {
  sum = 0;
  /** Number of values in each bucket and in no lower one; the last is for values above all bounds. */
  readonly counts: number[];
  /** The last value of each bucket that came with a trace. */
  readonly exemplars: (BucketExemplar | undefined)[] = [];

  constructor(
    readonly labels: Readonly<Record<string, string>>,
    private readonly bounds: readonly number[],
  ) {
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** `traceId`: a sampled trace that shows how the value came about. */
  observe(value: number, traceId?: string): void {
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at++;
    counts[at] = (counts[at] as number) + 1;
    this.sum += value;
    if (traceId !== undefined) this.exemplars[at] = { labelSet: { trace_id: traceId }, value, timestamp: Date.now() / 1_000 };
  }
}

/**
 * A histogram whose series are bound to their labels once. The library's own makes a text of all labels for each value, which takes about
 * two microseconds; here each scrape makes it.
 */
export class BoundHistogram extends Histogram {
  private readonly series: HistogramSeries[] = [];

  constructor(private readonly config: Pick<HistogramConfiguration<string>, 'name' | 'help' | 'registers'> & { buckets: number[] }) {
    super(config);
  }

  /** Adds a series. It is exported from its first value on. Call once for the same labels. */
  bind(labels: Readonly<Record<string, string>>): HistogramSeries {
    const series = new HistogramSeries(labels, this.config.buckets);
    this.series.push(series);
    return series;
  }

  override async get(): ReturnType<Histogram['get']> {
    const { name, help } = this.config;
    const values = this.series.flatMap((series) => this.readValues(series));
    return { name, help, type: 'histogram', aggregator: 'sum', values } as unknown as Awaited<ReturnType<Histogram['get']>>;
  }

  /** The registry prefers this method to `get`. */
  getForPromString(): ReturnType<Histogram['get']> {
    return this.get();
  }

  private readValues({ labels, counts, sum, exemplars }: HistogramSeries) {
    const { name, buckets } = this.config;
    let count = 0;
    const values = [...buckets, '+Inf'].map((le, at) => {
      count += counts[at] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count, exemplar: exemplars[at] };
    });
    if (count === 0) return [];
    return [...values, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }];
  }
}
