import { Gauge, type Registry } from 'prom-client';

/** Registers a gauge without labels, whose value is read when Prometheus scrapes. */
export function registerScrapedGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
