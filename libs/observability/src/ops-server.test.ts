import { Counter, Registry } from 'prom-client';
import { COMMIT, VERSION } from '#config/version.js';
import { type OpsServer, startOpsServer } from './ops-server.js';
import type { ReadinessCheck } from './readiness.js';

let server: OpsServer;
afterEach(() => server.close());

async function start(
  checks: ReadinessCheck[],
  registry = new Registry(),
): Promise<(path: string) => Promise<{ status: number; body: string }>> {
  server = await startOpsServer({ host: '127.0.0.1', port: 0, checks, registry });
  return async (path) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
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

test('serves metrics, with the running build', async () => {
  const registry = new Registry();
  new Counter({ name: 'tolls_total', help: 'tolls', registers: [registry] }).inc(3);
  const get = await start([], registry);
  const { body } = await get('/metrics');
  expect(body).toContain('tolls_total 3');
  expect(body).toMatch(/^tollgate_event_loop_utilization (0(\.\d+)?|1)$/m);
  expect(body).toContain(`tollgate_build_info{version="${VERSION}",commit="${COMMIT}",node="${process.version}"} 1`);
});
