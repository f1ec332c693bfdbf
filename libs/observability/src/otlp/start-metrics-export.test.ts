import { pino } from 'pino';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CollectedMetric } from '#testing/collected-metrics.js';
import { TraceCollector } from '#testing/trace-collector.js';
import { BoundHistogram } from '../bound-histogram.js';
import { histogramWithExemplars } from '../open-metrics.js';
import type { MetricsExport } from './export-metrics.js';
import { startMetricsExport } from './start-metrics-export.js';

const VARIABLES = { ...process.env };
let collector: TraceCollector;
let metricsExport: MetricsExport | undefined;
let registry: Registry;
let logged: Record<string, unknown>[];

beforeEach(async () => {
  collector = await TraceCollector.start();
  registry = new Registry();
});

afterEach(async () => {
  process.env = { ...VARIABLES };
  await metricsExport?.close();
  await collector.close().catch(() => undefined);
});

async function start(settings: Record<string, string> = {}): Promise<MetricsExport | undefined> {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRICS_EXPORTER: 'otlp' };
  process.env = { ...VARIABLES, ...endpoint, ...settings };
  const lines: Record<string, unknown>[] = [];
  logged = lines;
  const logger = pino({ base: {} }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  metricsExport = await startMetricsExport({ name: 'test', registry, logger });
  return metricsExport;
}

/** Returns the metrics of the export at the end, whose times are checked. */
async function exported(): Promise<Omit<CollectedMetric, 'help'>[]> {
  await metricsExport?.close();
  const metrics = collector.metrics.at(-1)?.metrics ?? [];
  const now = Date.now();
  return metrics.map(({ help, points, ...metric }) => ({
    ...metric,
    points: points.map(({ startMs, atMs, ...point }) => {
      expect({ start: Math.abs(startMs - performance.timeOrigin) < 1, isNow: now - atMs < 10_000 }).toEqual({ start: true, isNow: true });
      return point as CollectedMetric['points'][number];
    }),
  }));
}

test.each([
  ['no setting', { OTEL_METRICS_EXPORTER: '', OTEL_METRIC_EXPORT_INTERVAL: 'not one of ours' }],
  ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'true' }],
  ['OTEL_METRICS_EXPORTER=none', { OTEL_METRICS_EXPORTER: 'none', OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://127.0.0.1:9' }],
  ['OTEL_METRICS_EXPORTER=prometheus', { OTEL_METRICS_EXPORTER: 'prometheus' }],
])('there is no export with %s', async (_, settings) => {
  expect(await start(settings)).toBeUndefined();
});

test.each([
  ['OTEL_METRICS_EXPORTER', 'console'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_METRICS_PROTOCOL', 'http/json'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
  ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'delta'],
  ['OTEL_METRIC_EXPORT_INTERVAL', '0'],
])('%s=%s is refused by name', async (name, value) => {
  await expect(start({ [name]: value })).rejects.toThrow(name);
});

test('an endpoint for metrics alone starts the export, with its own headers', async () => {
  await start({
    OTEL_METRICS_EXPORTER: '',
    OTEL_EXPORTER_OTLP_ENDPOINT: '',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
    OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-tenant=7',
    OTEL_SERVICE_NAME: 'named',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  });
  await metricsExport?.close();
  expect(collector.headers).toEqual([expect.objectContaining({ 'content-type': 'application/x-protobuf', 'x-tenant': '7' })]);
  expect(collector.metrics.map(({ resource }) => resource)).toEqual([
    expect.objectContaining({
      'service.name': 'named',
      'service.version': expect.any(String),
      'service.instance.id': expect.any(String),
      'deployment.environment.name': 'test',
    }),
  ]);
});

test('counters are cumulative, monotonic sums, and labels attributes', async () => {
  const registers = [registry];
  new Counter({ name: 'tollgate_test_plain_total', help: 'Plain', registers }).inc(3);
  const counter = new Counter({ name: 'tollgate_test_total', help: 'Labels', labelNames: ['route', 'status'], registers });
  counter.inc({ route: '/v1', status: 200 }, 0);
  counter.inc({ route: '/v1', status: 500 }, 2.5);
  const sum = { unit: '', kind: 'sum', temporality: 'cumulative', isMonotonic: true };
  await start();
  expect(await exported()).toEqual([
    { ...sum, name: 'tollgate_test_plain_total', points: [{ attributes: {}, value: 3 }] },
    {
      ...sum,
      name: 'tollgate_test_total',
      points: [
        { attributes: { route: '/v1', status: '200' }, value: 0 },
        { attributes: { route: '/v1', status: '500' }, value: 2.5 },
      ],
    },
  ]);
  expect(collector.metrics.at(-1)?.metrics.map(({ help }) => help)).toEqual(['Plain', 'Labels']);
});

test('gauges are read for each export; a metric without values is left out', async () => {
  const registers = [registry];
  let value = -1;
  const collect = function (this: Gauge): void {
    this.set(value);
  };
  new Gauge({ name: 'tollgate_test', help: 'Read', registers, collect });
  new Gauge({ name: 'tollgate_test_empty', help: 'Without values', labelNames: ['model'], registers });
  await start();
  value = 7;
  expect(await exported()).toEqual([{ unit: '', kind: 'gauge', name: 'tollgate_test', points: [{ attributes: {}, value: 7 }] }]);
});

test('histograms of each kind have explicit bounds, and counts of single buckets', async () => {
  const common = { help: 'Seconds', buckets: [0.1, 1], labelNames: ['stream'] };
  const plain = new Histogram({ ...common, name: 'tollgate_test_plain_seconds', registers: [registry] });
  const traced = histogramWithExemplars(registry, { ...common, name: 'tollgate_test_traced_seconds' });
  const bound = new BoundHistogram({ ...common, name: 'tollgate_test_bound_seconds', registers: [registry] });
  const series = bound.bind({ stream: 'true' });
  bound.bind({ stream: 'never observed' });
  for (const value of [0.1, 0.5, 0.5, 4]) {
    plain.observe({ stream: 'true' }, value);
    traced.observe({ labels: { stream: 'true' }, value, exemplarLabels: { trace_id: 'a'.repeat(32) } });
    series.observe(value);
  }
  plain.zero({ stream: 'false' });
  const filled = { attributes: { stream: 'true' }, sum: 5.1, count: 4, bounds: [0.1, 1], counts: [1, 2, 1] };
  const empty = { attributes: { stream: 'false' }, sum: 0, count: 0, bounds: [0.1, 1], counts: [0, 0, 0] };
  const histogram = { unit: '', kind: 'histogram', temporality: 'cumulative' };
  await start();
  expect(await exported()).toEqual([
    { ...histogram, name: 'tollgate_test_plain_seconds', points: [filled, empty] },
    { ...histogram, name: 'tollgate_test_traced_seconds', points: [filled] },
    { ...histogram, name: 'tollgate_test_bound_seconds', points: [filled] },
  ]);
});

test('metrics of generative AI have the names, units and attributes of the conventions; the same labels elsewhere keep theirs', async () => {
  const bind = (name: string, labels: Record<string, string>) =>
    new BoundHistogram({ name, help: 'Test', buckets: [1], registers: [registry] }).bind(labels).observe(1);
  bind('gen_ai_client_token_usage', { upstream: 'u', gen_ai_request_model: 'm', gen_ai_token_type: 'input' });
  bind('gen_ai_client_operation_duration_seconds', {
    gen_ai_operation_name: 'chat',
    gen_ai_provider_name: 'openai',
    error_type: 'timeout',
  });
  bind('tollgate_test', { error_type: 'timeout' });
  await start();
  const metrics = (await exported()).map(({ name, unit, points }) => [name, unit, points[0]?.attributes]);
  expect(metrics).toEqual([
    ['gen_ai.client.token.usage', '{token}', { upstream: 'u', 'gen_ai.request.model': 'm', 'gen_ai.token.type': 'input' }],
    [
      'gen_ai.client.operation.duration',
      's',
      { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'error.type': 'timeout' },
    ],
    ['tollgate_test', '', { error_type: 'timeout' }],
  ]);
});

test('a metric that cannot be read fails the export, and is logged once', async () => {
  new Gauge({
    name: 'tollgate_test',
    help: 'Fails',
    registers: [registry],
    collect() {
      throw new TypeError('no value');
    },
  });
  await start({ OTEL_METRIC_EXPORT_INTERVAL: '10' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await metricsExport?.close();
  expect([collector.metrics, logged]).toEqual([
    [],
    [expect.objectContaining({ level: 40, msg: 'metrics cannot be exported', name: 'TypeError' })],
  ]);
});

describe('a collector', () => {
  const settings = { OTEL_METRIC_EXPORT_INTERVAL: '20', OTEL_METRIC_EXPORT_TIMEOUT: '20', OTEL_EXPORTER_OTLP_TIMEOUT: '20' };

  test.each<[string, (collector: TraceCollector) => void | Promise<void>]>([
    ['that is away', (away) => away.close()],
    ['that refuses', (collector) => (collector.answer = (_, response) => void response.writeHead(400).end('x'.repeat(100_000)))],
    ['that never answers', (collector) => (collector.answer = () => undefined)],
    [
      'that answers without end',
      (collector) => {
        collector.answer = (_, response) => {
          const flood = (): boolean => !response.destroyed && response.write(Buffer.alloc(1024 * 1024)) && flood();
          response.on('drain', flood);
          flood();
        };
      },
    ],
  ])('%s costs one line of the log, without its text, and the end of the service is not held up', async (_, misbehave) => {
    await start(settings);
    await misbehave(collector);
    await until(() => logged.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await metricsExport?.close();
    expect(logged).toEqual([expect.objectContaining({ level: 40, msg: 'metrics cannot be exported', name: expect.any(String) })]);
    expect(JSON.stringify(logged).length).toBeLessThan(200);
  });

  test('that drips its answers keeps a few exports open, however many there were', async () => {
    await start(settings);
    let [open, most] = [0, 0];
    collector.answer = (_, response) => {
      const timer = setInterval(() => response.write('x'), 5);
      most = Math.max(most, ++open);
      response.on('close', () => {
        open--;
        clearInterval(timer);
      });
    };
    await until(() => most >= 4);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect([most, logged.map(({ msg }) => msg)]).toEqual([4, ['metrics cannot be exported']]);
    await metricsExport?.close();
  });

  test('that returns gets the totals of then', async () => {
    const counter = new Counter({ name: 'tollgate_test_total', help: 'Test', registers: [registry] });
    collector.answer = (_, response) => void response.writeHead(500).end();
    counter.inc();
    await start({ OTEL_METRIC_EXPORT_INTERVAL: '50', OTEL_EXPORTER_OTLP_TIMEOUT: '40' });
    await until(() => logged.length > 0);
    counter.inc();
    collector.answer = (_, response) => void response.end();
    await until(() => logged.length > 1);
    await metricsExport?.close();
    expect(logged.map(({ msg }) => msg)).toEqual(['metrics cannot be exported', 'metrics are exported again']);
    expect(collector.metrics.at(-1)?.metrics[0]?.points[0]?.value).toBe(2);
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
