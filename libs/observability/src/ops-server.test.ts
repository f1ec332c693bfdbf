import { Counter, Registry } from 'prom-client';
import { COMMIT, VERSION } from '#config/version.js';
import { histogramWithExemplars } from './open-metrics.js';
import { type OpsServer, startOpsServer } from './ops-server.js';
import type { ReadinessCheck } from './readiness.js';

let server: OpsServer;
afterEach(() => server.close());

async function start(
  checks: ReadinessCheck[],
  registry = new Registry(),
): Promise<(path: string, accept?: string) => Promise<{ status: number; body: string }>> {
  server = await startOpsServer({ host: '127.0.0.1', port: 0, checks, registry });
  return async (path, accept = '*/*') => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { accept } });
    return { status: response.status, body: await response.text() };
  };
}

test('readiness names failed checks; liveness ignores them', async () => {
  const get = await start([
    { name: 'nats', check: () => true },
    { name: 'postgres', check: () => Promise.reject(new Error('refused')) },
  ]);
  expect(await get('/readyz')).toEqual({ status: 503, body: '{"status":"unavailable","missing":["postgres"]}' });
  expect(await get('/livez')).toEqual({ status: 200, body: '{"status":"ok"}' });
});

test('readiness shows the details of checks', async () => {
  const get = await start([
    { name: 'schema', check: () => false, detail: () => 'a migration is missing' },
    { name: 'catalog', check: () => true, detail: () => 'it is an hour old' },
    { name: 'nats', check: () => true, detail: () => undefined },
    {
      name: 'postgres',
      check: () => {
        throw new Error('refused');
      },
      detail: () => 'detail of an earlier check',
    },
  ]);
  expect(JSON.parse((await get('/readyz')).body)).toEqual({
    status: 'unavailable',
    missing: ['schema: a migration is missing', 'postgres'],
    notes: ['catalog: it is an hour old'],
  });
});

test('a draining service is live but not ready', async () => {
  const get = await start([]);
  expect(await get('/readyz')).toEqual({ status: 200, body: '{"status":"ok","missing":[]}' });
  server.drain();
  expect(await get('/readyz')).toEqual({ status: 503, body: '{"status":"unavailable","missing":["shutting-down"]}' });
  expect((await get('/livez')).status).toBe(200);
});

test('a scraper that accepts OpenMetrics gets exemplars, and one that does not the same names without them', async () => {
  const registry = new Registry();
  new Counter({ name: 'tolls_total', help: 'tolls', registers: [registry] }).inc(3);
  const seconds = histogramWithExemplars(registry, { name: 'wait_seconds', help: 'waits', labelNames: ['gate'], buckets: [1] });
  seconds.observe({ labels: { gate: 'a' }, value: 0.5, exemplarLabels: { trace_id: '0af7651916cd43dd8448eb211c80319c' } });
  seconds.observe({ labels: { gate: 'a' }, value: 2 });
  const get = await start([], registry);
  const own = async (accept?: string): Promise<string[]> => {
    const { body } = await get('/metrics', accept);
    return body.split('\n').filter((line) => /tolls|wait_seconds|EOF/.test(line));
  };
  const plain = [
    '# HELP tolls_total tolls',
    '# TYPE tolls_total counter',
    'tolls_total 3',
    '# HELP wait_seconds waits',
    '# TYPE wait_seconds histogram',
    'wait_seconds_bucket{le="1",gate="a"} 1',
    'wait_seconds_bucket{le="+Inf",gate="a"} 2',
    'wait_seconds_sum{gate="a"} 2.5',
    'wait_seconds_count{gate="a"} 2',
  ];
  const open = plain.map((line) => line.replace(/^# (HELP|TYPE) tolls_total/, '# $1 tolls'));
  const exemplar = ' # {trace_id="0af7651916cd43dd8448eb211c80319c"} 0.5 ';
  expect(await own()).toEqual(plain);
  const scraped = await own('application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5');
  expect(scraped.map((line) => line.replace(/(?<= 0\.5 )[\d.]+$/, ''))).toEqual([
    ...open.map((line) => (line.includes('le="1"') ? line + exemplar : line)),
    '# EOF',
  ]);
  expect(await own()).toEqual(plain);
});

test('serves metrics, with the running build', async () => {
  const registry = new Registry();
  new Counter({ name: 'tolls_total', help: 'tolls', registers: [registry] }).inc(3);
  const get = await start([], registry);
  const { body } = await get('/metrics');
  expect(body).toContain('tolls_total 3');
  expect(body).toMatch(/^tollgate_event_loop_utilization (0(\.\d+)?|1)$/m);
  expect(body).toContain(`tollgate_build_info{version="${VERSION}",commit="${COMMIT}",node="${process.version}"} 1`);
});
