import { Counter, Registry } from 'prom-client';
import { SharedOps } from './shared-ops.js';

let ops: SharedOps;

beforeEach(async () => {
  ops = await SharedOps.start({ host: '127.0.0.1', port: 0, expected: ['billing', 'catalog'] });
});

afterEach(() => ops.close());

function counted(name: string, value: number): Registry {
  const registry = new Registry();
  new Counter({ name, help: 'Things', registers: [registry] }).inc(value);
  return registry;
}

async function readiness(): Promise<unknown> {
  const reply = await fetch(`http://127.0.0.1:${ops.port}/readyz`);
  return { code: reply.status, ...((await reply.json()) as object) };
}

test('readiness names the service of each check, and a service that has not begun', async () => {
  let isReady = false;
  ops.add({ name: 'billing', registry: new Registry(), checks: [{ name: 'nats', check: () => isReady }] });
  expect(await readiness()).toEqual({ code: 503, status: 'unavailable', missing: ['billing: nats', 'catalog'] });
  ops.add({ name: 'catalog', registry: new Registry(), checks: [] });
  isReady = true;
  expect(await readiness()).toEqual({ code: 200, status: 'ok', missing: [] });
});

test('the drain of one service is that of the process', async () => {
  const [billing] = ['billing', 'catalog'].map((name) => ops.add({ name, registry: new Registry(), checks: [] }));
  billing?.drain();
  expect(await readiness()).toEqual({ code: 503, status: 'unavailable', missing: ['shutting-down'] });
});

test.each([
  ['text/plain', '# TYPE shared_total counter', ''],
  ['application/openmetrics-text', '# TYPE shared counter', '# EOF'],
])('as %s, a metric of two services stands once, with a job each', async (accept, type, end) => {
  for (const name of ['billing', 'catalog']) ops.add({ name, registry: counted('shared_total', name.length), checks: [] });
  ops.add({ name: 'panel', registry: counted('own_total', 1), checks: [] });
  const text = await (await fetch(`http://127.0.0.1:${ops.port}/metrics`, { headers: { accept } })).text();
  const lines = text.split('\n');
  expect(lines.filter((line) => /^(# TYPE )?(shared|own)/.test(line))).toEqual([
    type,
    'shared_total{job="billing"} 7',
    'shared_total{job="catalog"} 7',
    type.replace('shared', 'own'),
    'own_total{job="panel"} 1',
  ]);
  expect(lines.at(-2)).toEqual(end === '' ? expect.not.stringContaining('EOF') : end);
});

test('the metrics of the process have no job', async () => {
  const text = await (await fetch(`http://127.0.0.1:${ops.port}/metrics`)).text();
  expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
});
