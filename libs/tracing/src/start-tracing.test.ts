import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { leastMs } from '#testing/least-ms.js';
import { renderTree, TraceCollector } from '#testing/trace-collector.js';
import { startTracing } from './start-tracing.js';
import type { Tracer } from './tracer.js';

const SAMPLED = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'vendor=1' };
const UNSAMPLED = { traceparent: '00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00' };

const VARIABLES = { ...process.env };
let collector: TraceCollector;
let tracer: Tracer;
let registry: Registry;
let logged: { msg: string }[];

beforeEach(async () => {
  collector = await TraceCollector.start();
});

afterEach(async () => {
  process.env = { ...VARIABLES };
  await tracer?.close();
  await collector.close().catch(() => undefined);
});

async function start(settings: Record<string, string> = {}): Promise<Tracer> {
  process.env = { ...VARIABLES, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '10', ...settings };
  registry = new Registry();
  const lines: { msg: string }[] = [];
  logged = lines;
  const logger = pino({ base: {} }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  tracer = (await startTracing({ name: 'test', registry, logger })) as Tracer;
  return tracer;
}

async function counts(): Promise<Record<string, number>> {
  const [metric] = await registry.getMetricsAsJSON();
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [String(labels.outcome), value]));
}

function sum(counted: Record<string, number>): number {
  return Object.values(counted).reduce((total, count) => total + count, 0);
}

/** A request with one call below. */
function request(parent: { traceparent: string } | undefined, { fails = false } = {}): void {
  const root = tracer.startRoot('request', 'server', { parent });
  root.startChild('call', 'client').end();
  if (fails) root.fail('upstream_error');
  root.end();
}

test.each([
  ['no endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_SAMPLER: 'not one of ours' }],
  ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'true' }],
  ['OTEL_TRACES_EXPORTER=none', { OTEL_TRACES_EXPORTER: 'none' }],
])('there is no tracer with %s', async (_, settings) => {
  expect(await start(settings)).toBeUndefined();
});

test.each([
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ['OTEL_TRACES_SAMPLER_ARG', '2'],
])('%s=%s is refused by name', async (name, value) => {
  await expect(start({ [name]: value })).rejects.toThrow(name);
});

test('spans arrive as protobuf below their parent, with attributes, events, links, status and resource', async () => {
  await start({
    OTEL_SERVICE_NAME: 'named',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=7',
  });
  const root = tracer.startRoot('request', 'server', { parent: SAMPLED, attributes: { text: 'x'.repeat(1_000), absent: undefined } });
  const child = root.startChild('call', 'client', { count: 3, ratio: 0.5, on: true });
  child.addEvent('retry', { attempt: 2 });
  child.fail('timeout');
  child.end();
  root.end();
  const batch = tracer.startRoot('batch', 'client', { links: [root] });
  batch.end();
  await tracer.close();
  expect(renderTree(collector.of(root.traceId))).toEqual(['named server request', '  named client call FAILED']);
  const [call, request, linked] = collector.spans;
  expect(call).toMatchObject({
    attributes: { count: 3, ratio: 0.5, on: true, 'error.type': 'timeout' },
    events: [{ name: 'retry', attributes: { attempt: 2 } }],
    traceState: 'vendor=1',
  });
  expect(request).toMatchObject({ parentId: 'b7ad6b7169203331', attributes: { text: 'x'.repeat(256) } });
  expect(child.context).toEqual({ traceparent: `00-${root.traceId}-${call?.spanId}-01`, tracestate: 'vendor=1' });
  expect(linked?.links).toEqual([{ traceId: root.traceId, spanId: request?.spanId }]);
  expect(collector.headers[0]).toMatchObject({ 'content-type': 'application/x-protobuf', 'x-tenant': '7' });
  expect(await counts()).toEqual({ exported: 3, failed: 0, dropped: 0 });
});

test('the parent decides, and a ratio for traces that begin here: what is not sampled exports nothing', async () => {
  await start({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' });
  request(undefined);
  request(UNSAMPLED);
  await tracer.close();
  expect(collector.bodies).toEqual([]);
  request(SAMPLED);
  await tracer.close();
  expect(collector.spans.map(({ name }) => name)).toEqual(['call', 'request']);
});

test('a client that asks for sampling is not heard by a sampler without parent', async () => {
  await start({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' });
  request(SAMPLED);
  await tracer.close();
  expect(collector.bodies).toEqual([]);
});

test('of requests that are not sampled, those that fail or are slow are exported with all spans, also with one that ends later', async () => {
  await start({ TRACES_SLOW_MS: '40' });
  request(UNSAMPLED);
  request(UNSAMPLED, { fails: true });
  const slow = tracer.startRoot('slow', 'server', { parent: UNSAMPLED });
  const late = slow.startChild('late', 'client');
  await new Promise((resolve) => setTimeout(resolve, 60));
  slow.end();
  late.end();
  await tracer.close();
  expect(collector.spans.map(({ name }) => name)).toEqual(['call', 'request', 'slow', 'late']);
});

test.each([
  ['is neither failed nor slow is not chosen', { TRACES_SLOW_MS: '60000' }, undefined, '00'],
  ['has failed is chosen for the calls that it makes from then on', { TRACES_SLOW_MS: '60000' }, 'upstream_error', '01'],
  ['has failed is not chosen with TRACES_SLOW_MS=0', { TRACES_SLOW_MS: '0' }, 'upstream_error', '00'],
])('a request that is not sampled and %s', async (_, settings, failure, flags) => {
  await start(settings);
  const root = tracer.startRoot('request', 'server', { parent: UNSAMPLED });
  if (failure !== undefined) root.fail(failure);
  root.chooseIfDue();
  const call = root.startChild('call', 'client');
  expect([root.isSampled, call.isSampled, call.context.traceparent.slice(-2)]).toEqual([flags === '01', flags === '01', flags]);
});

test('a request that is slow already is chosen', async () => {
  await start({ TRACES_SLOW_MS: '1' });
  const root = tracer.startRoot('request', 'server', { parent: UNSAMPLED });
  await new Promise((resolve) => setTimeout(resolve, 5));
  root.chooseIfDue();
  expect(root.isSampled).toBe(true);
});

test('TRACES_SLOW_MS=0 exports nothing that is not sampled', async () => {
  await start({ TRACES_SLOW_MS: '0' });
  request(UNSAMPLED, { fails: true });
  await tracer.close();
  expect(collector.bodies).toEqual([]);
});

test('a process that dies in a request exports no span of it, because their parents die too', async () => {
  await start();
  const root = tracer.startRoot('request', 'server', { parent: SAMPLED });
  root.startChild('call', 'client').end();
  await tracer.close();
  expect(collector.bodies).toEqual([]);
});

test('requests in progress hold a bounded number of spans: those that end beyond it are dropped and counted', async () => {
  await start();
  const first = tracer.startRoot('first', 'server', { parent: UNSAMPLED });
  for (let call = 0; call < 8_192; call++) first.startChild('call', 'client').end();
  const second = tracer.startRoot('second', 'server', { parent: UNSAMPLED });
  for (let call = 0; call < 100; call++) second.startChild('call', 'client').end();
  first.end();
  second.startChild('later call', 'client').end();
  second.fail('upstream_error');
  second.end();
  await tracer.close();
  expect({ names: collector.spans.map(({ name }) => name), ...(await counts()) }).toEqual({
    names: ['later call', 'second'],
    exported: 2,
    failed: 0,
    dropped: 100,
  });
});

test('a trace that begins here has the given id, and one that a client began keeps its own', async () => {
  await start();
  const traceId = '0193f5a2b6c47d3e8f00a1b2c3d4e5f6';
  tracer.startRoot('begun', 'server', { traceId }).end();
  tracer.startRoot('continued', 'server', { traceId, parent: SAMPLED }).end();
  await tracer.close();
  expect(collector.spans.map(({ name, traceId, parentId }) => ({ name, traceId, parentId }))).toEqual([
    { name: 'begun', traceId, parentId: '' },
    { name: 'continued', traceId: SAMPLED.traceparent.slice(3, 35), parentId: SAMPLED.traceparent.slice(36, 52) },
  ]);
});

describe('a collector', () => {
  const settings = { OTEL_BSP_MAX_QUEUE_SIZE: '100', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10', OTEL_EXPORTER_OTLP_TIMEOUT: '50' };

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
    [
      'that drips its answer',
      (collector) => {
        collector.answer = (_, response) => {
          const timer = setInterval(() => response.write('x'), 20);
          response.on('close', () => clearInterval(timer));
        };
      },
    ],
  ])('%s delays nothing: the queue stays bounded, and every span is counted', async (_, misbehave) => {
    await start({ ...settings, OTEL_BSP_EXPORT_TIMEOUT: '60' });
    await misbehave(collector);
    let runs = 0;
    const took = await leastMs(200, async () => {
      runs += 1;
      const startedAt = performance.now();
      for (let count = 0; count < 100; count++) request(SAMPLED);
      return performance.now() - startedAt;
    });
    expect(took).toBeLessThan(200);
    // A run has 200 spans: 100 wait and 10 are under way. The end of the process waits only some seconds for them.
    while (sum(await counts()) < 200 * runs) await delay(5);
    const { exported = -1, failed = -1, dropped = -1 } = await counts();
    expect({ exported, sum: failed + dropped, isBounded: dropped >= 90 * runs }).toEqual({ exported: 0, sum: 200 * runs, isBounded: true });
    expect(logged.map(({ msg }) => msg)).toEqual(['trace collector does not take spans: they are lost']);
  });

  test('that drips its answers keeps a few exports open, however many there were', async () => {
    await start({ ...settings, OTEL_BSP_EXPORT_TIMEOUT: '20' });
    const timers: NodeJS.Timeout[] = [];
    collector.answer = (_, response) => void timers.push(setInterval(() => response.write('x'), 5));
    for (let batch = 0; batch < 12; batch++) {
      for (let count = 0; count < 5; count++) request(SAMPLED);
      await tracer.close();
    }
    for (const timer of timers) clearInterval(timer);
    // Four at a time. One that was given up makes room for another, so a slow machine sees more of them, but never one for each batch.
    expect(timers.length).toBeLessThan(12);
    expect(await counts()).toEqual({ exported: 0, failed: 120, dropped: 0 });
  });

  test('that is away costs a bounded number of bytes, also of long spans', async () => {
    await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '50' });
    await collector.close();
    const text = 'x'.repeat(64 * 1024);
    for (let count = 0; count < 200; count++) tracer.startRoot('long', 'server', { parent: SAMPLED, attributes: { text } }).end();
    await tracer.close();
    // 8 MiB hold 126 of them.
    expect(await counts()).toEqual({ exported: 0, failed: 126, dropped: 74 });
  });

  test('that returns gets what ends from then on', async () => {
    await start(settings);
    collector.answer = (_, response) => void response.writeHead(500).end();
    request(SAMPLED);
    await tracer.close();
    collector.answer = (_, response) => void response.end();
    request(SAMPLED);
    await tracer.close();
    expect(await counts()).toEqual({ exported: 2, failed: 2, dropped: 0 });
    expect(logged.map(({ msg }) => msg)).toEqual([
      'trace collector does not take spans: they are lost',
      'trace collector takes spans again',
    ]);
  });
});
