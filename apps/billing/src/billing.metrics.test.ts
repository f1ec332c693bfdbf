import { Registry } from 'prom-client';
import type { Applied } from './batch/batch.js';
import { createBillingMetrics, recordBatch, watchLanes } from './billing.metrics.js';

test('counters of alerts are exported before their first increment', async () => {
  const registry = new Registry();
  createBillingMetrics(registry);
  const lines = (await registry.metrics()).split('\n');
  const watched =
    /^tollgate_billing_(reserves_total|settles_total|late_settlements_total|written_off_pico_usd_total|over_pico_usd_total|accounts_frozen)\b/;
  expect(lines.filter((line) => watched.test(line))).toEqual([
    'tollgate_billing_reserves_total{outcome="held"} 0',
    'tollgate_billing_reserves_total{outcome="closed"} 0',
    'tollgate_billing_reserves_total{outcome="invalid_api_key"} 0',
    'tollgate_billing_reserves_total{outcome="account_frozen"} 0',
    'tollgate_billing_reserves_total{outcome="rate_limit_exceeded"} 0',
    'tollgate_billing_reserves_total{outcome="concurrency_limit"} 0',
    'tollgate_billing_reserves_total{outcome="insufficient_balance"} 0',
    'tollgate_billing_settles_total{reason="completed"} 0',
    'tollgate_billing_settles_total{reason="failed"} 0',
    'tollgate_billing_settles_total{reason="client-disconnected"} 0',
    'tollgate_billing_settles_total{reason="released"} 0',
    'tollgate_billing_settles_total{reason="lease-expired"} 0',
    'tollgate_billing_late_settlements_total 0',
    'tollgate_billing_written_off_pico_usd_total 0',
    'tollgate_billing_accounts_frozen 0',
    ...['completed', 'failed', 'client-disconnected', 'released', 'lease-expired'].map(
      (reason) => `tollgate_billing_over_pico_usd_total{reason="${reason}"} 0`,
    ),
  ]);
});

test('the queue and the age of its oldest request are read at each scrape', async () => {
  const registry = new Registry();
  const lanes = { queued: 0, waitingMs: 0 };
  watchLanes(registry, lanes);
  Object.assign(lanes, { queued: 3, waitingMs: 1_500 });
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(lines).toEqual(['tollgate_billing_queue 3', 'tollgate_billing_waiting_seconds 1.5']);
});

test('usage beyond a hold counts once, by the end of its request: of a late settlement what the reaper did not count', async () => {
  const registry = new Registry();
  const metrics = createBillingMetrics(registry);
  const settled = [
    { reason: 'completed', cost: 10n, over: 3n },
    { reason: 'failed', cost: 10n, over: 0n },
  ];
  const late = [
    { settle: { reason: 'client-disconnected' }, hold: { over: 0n }, due: 5n, over: 4n, charge: { writeoff: 0n } },
    { settle: { reason: 'failed' }, hold: { over: 20n }, due: 0n, over: 25n, charge: { writeoff: 0n } },
    { settle: { reason: 'completed' }, hold: { over: 20n }, due: -5n, over: 0n, charge: { writeoff: 0n } },
  ];
  const applied = { rows: { settled, late, tombstones: [] }, outcomes: { settles: [], reserves: [] } };
  recordBatch(metrics, applied as unknown as Applied, 1);
  const lines = (await registry.metrics()).split('\n').filter((line) => /^tollgate_billing_over_.* [1-9]/.test(line));
  expect(lines.sort()).toEqual([
    'tollgate_billing_over_holds_total 2',
    'tollgate_billing_over_pico_usd_total{reason="client-disconnected"} 4',
    'tollgate_billing_over_pico_usd_total{reason="completed"} 3',
    'tollgate_billing_over_pico_usd_total{reason="failed"} 5',
  ]);
});
