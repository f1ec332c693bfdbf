import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** What the gateway counts. Labels are of bounded number: routes, models of the catalog, codes; never ids. */
export class GatewayMetrics {
  readonly requests: Counter<'route' | 'status' | 'code'>;
  readonly seconds: Histogram<'route' | 'stream'>;
  readonly firstContentSeconds: Histogram<'stream'>;
  readonly tokens: Counter<'model' | 'kind'>;

  constructor(private readonly registry: Registry) {
    const registers = [registry];
    this.requests = new Counter({
      name: 'tollgate_gateway_requests_total',
      help: 'Requests answered',
      labelNames: ['route', 'status', 'code'],
      registers,
    });
    this.seconds = new Histogram({
      name: 'tollgate_gateway_request_seconds',
      help: 'From the request line to the last byte of the reply',
      labelNames: ['route', 'stream'],
      buckets: SECONDS,
      registers,
    });
    this.firstContentSeconds = new Histogram({
      name: 'tollgate_gateway_first_content_seconds',
      help: 'From the request line to the first content of the model',
      labelNames: ['stream'],
      buckets: SECONDS,
      registers,
    });
    this.tokens = new Counter({ name: 'tollgate_gateway_tokens_total', help: 'Tokens billed', labelNames: ['model', 'kind'], registers });
  }

  /** A value that is asked for when it is scraped. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }
}
