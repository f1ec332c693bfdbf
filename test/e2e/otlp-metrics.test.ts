import type { CollectedExport, CollectedMetric } from '#testing/collected-metrics.js';
import { TracedStack, WITH_METRICS } from './traced-stack.js';

/** A collector gets the metrics that Prometheus scrapes, with the same values. */
let traced: TracedStack;
beforeAll(async () => {
  traced = await TracedStack.start(WITH_METRICS);
  await traced.ask();
  await traced.ask({ stream: true, directives: 'rate=50 tokens=8' }); // several chunks
  await traced.ask({ model: 'failover' });
  await traced.ask({ model: 'failing' });
});
afterAll(() => traced?.stop());

const SERVICES = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'] as const;
type ServiceName = (typeof SERVICES)[number];

/** Gauges that each reading starts anew: two that follow at once are equal, and the one between them is not. */
const SINCE_LAST_READING = /^nodejs_eventloop_lag_/;

/** Values by name and labels, as a scrape writes them. */
type Values = Map<string, number>;

test.each(SERVICES)('%s: each series of /metrics is exported, and those that stand still have the same value', async (service) => {
  let faults = await differences(service);
  // A gauge may change and change back between the two scrapes.
  for (let repeated = 0; repeated < 5 && faults.length > 0; repeated++) {
    const again = await differences(service);
    faults = faults.filter((series) => again.includes(series));
  }
  expect(faults).toEqual([]);
});

/** Returns the series that are not on both sides, or that differ although they were the same before and after the export. */
async function differences(service: ServiceName): Promise<string[]> {
  const before = await scrape(service);
  const values = readValues(await exportAfter(service, Date.now()));
  const after = await scrape(service);
  const still = [...after.keys()].filter((series) => before.get(series) === after.get(series) && !SINCE_LAST_READING.test(series));
  expect(still.length).toBeGreaterThan(50);
  return [
    ...[...values.keys()].filter((series) => !after.has(series)),
    ...still.filter((series) => values.get(series) !== after.get(series)),
  ];
}

test('calls of upstreams have the names, units and attributes of the conventions', async () => {
  const { metrics } = await exportAfter('inference-proxy', Date.now());
  const named = metrics.filter(({ name }) => name.startsWith('gen_ai'));
  expect(named.map(({ name, unit, kind, temporality }) => `${name} ${unit} ${kind} ${temporality}`).sort()).toEqual([
    'gen_ai.client.operation.duration s histogram cumulative',
    'gen_ai.client.operation.time_per_output_chunk s histogram cumulative',
    'gen_ai.client.operation.time_to_first_chunk s histogram cumulative',
    'gen_ai.client.token.usage {token} histogram cumulative',
    'gen_ai.server.time_per_output_token s histogram cumulative',
  ]);
  const conventional = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'sim-fast' };
  const duration = named.find(({ name }) => name === 'gen_ai.client.operation.duration');
  expect(duration?.points.map(({ attributes, count }) => ({ attributes, count }))).toEqual(
    expect.arrayContaining([
      { attributes: { ...conventional, upstream: 'good', model: 'traced' }, count: 2 },
      { attributes: { ...conventional, upstream: 'bad', model: 'failing', 'error.type': 'refused' }, count: 1 },
    ]),
  );
});

test('counters are monotonic sums since the start of the service, which is the one of its traces', async () => {
  const { resource, metrics } = await exportAfter('gateway', Date.now());
  const counter = metrics.find(({ name }) => name === 'tollgate_gateway_requests_total');
  const point = counter?.points.find(({ attributes }) => attributes.status === '200' && attributes.route === '/v1/chat/completions');
  expect({ kind: counter?.kind, isMonotonic: counter?.isMonotonic, count: point?.value }).toEqual({
    kind: 'sum',
    isMonotonic: true,
    count: 3,
  });
  const startedAt = (await scrape('gateway')).get('process_start_time_seconds{}') ?? 0;
  expect(Math.abs((point?.startMs ?? 0) / 1_000 - startedAt)).toBeLessThan(2);
  const service = { 'service.name': 'tollgate-gateway', 'service.version': expect.any(String), 'service.instance.id': expect.any(String) };
  expect(resource).toMatchObject(service);
  expect(traced.collector.resources.get('tollgate-gateway')).toEqual(resource);
});

/** Returns an export of a service that was made after the time. */
async function exportAfter(service: ServiceName, ms: number): Promise<CollectedExport> {
  const find = (all: readonly CollectedExport[]): CollectedExport | undefined =>
    all.find(({ resource, metrics }) => resource['service.name'] === `tollgate-${service}` && (metrics[0]?.points[0]?.atMs ?? 0) > ms);
  await traced.collector.untilMetrics((all) => find(all) !== undefined);
  return find(traced.collector.metrics) as CollectedExport;
}

async function scrape(service: ServiceName): Promise<Values> {
  const text = await (await fetch(`${traced.facts.opsUrls[service]}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      return [
        series(name, Object.fromEntries([...labels.matchAll(/(\w+)="(.*?)"/g)].map(([, label, text]) => [label, text]))),
        Number(value),
      ];
    }),
  );
}

/** Returns the values of an export by the names that a collector gives them for Prometheus: dots become underscores, and seconds a suffix. */
function readValues({ metrics }: CollectedExport): Values {
  return new Map(metrics.flatMap(listSeries));
}

function listSeries({ name: dotted, unit, kind, points }: CollectedMetric): [string, number][] {
  const name = dotted.replaceAll('.', '_') + (unit === 's' ? '_seconds' : '');
  return points.flatMap(({ attributes, value = 0, sum = 0, count = 0, bounds = [], counts = [] }): [string, number][] => {
    const labels = Object.fromEntries(Object.entries(attributes).map(([attribute, text]) => [attribute.replaceAll('.', '_'), text]));
    if (kind !== 'histogram') return [[series(name, labels), value]];
    let below = 0;
    const buckets = counts.map((own, at): [string, number] => {
      below += own;
      return [series(`${name}_bucket`, { ...labels, le: String(bounds[at] ?? '+Inf') }), below];
    });
    return [...buckets, [series(`${name}_sum`, labels), sum], [series(`${name}_count`, labels), count]];
  });
}

function series(name: string, labels: Record<string, string>): string {
  const sorted = Object.entries(labels).sort(([one], [other]) => one.localeCompare(other));
  return `${name}{${sorted.map(([label, value]) => `${label}=${value}`).join()}}`;
}
