import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Returns functions that make metrics in a registry. */
export function metricsIn(registry: Registry) {
  const registers = [registry];
  return {
    counter: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter<Label>({ name, help, labelNames, registers }),
    gauge: <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Gauge<Label>({ name, help, labelNames, registers }),
    histogram: <Label extends string>(name: string, help: string, buckets: number[], labelNames: Label[] = []) =>
      new Histogram<Label>({ name, help, labelNames, buckets, registers }),
    /** Makes a gauge whose value is read when Prometheus scrapes. */
    scrapedGauge: (name: string, help: string, read: () => number | Promise<number>): void => {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(await read());
        },
      });
    },
  };
}
