import { Registry } from 'prom-client';
import { createBillingMetrics } from './billing.metrics.js';

test('counters of alerts are exported before their first increment', async () => {
  const registry = new Registry();
  createBillingMetrics(registry);
  const lines = (await registry.metrics()).split('\n');
  const watched =
    /^tollgate_billing_(settles_total|late_settlements_total|written_off_pico_usd_total|over_pico_usd_total|accounts_frozen)\b/;
  expect(lines.filter((line) => watched.test(line))).toEqual([
    'tollgate_billing_settles_total{reason="completed"} 0',
    'tollgate_billing_settles_total{reason="failed"} 0',
    'tollgate_billing_settles_total{reason="client-disconnected"} 0',
    'tollgate_billing_settles_total{reason="released"} 0',
    'tollgate_billing_settles_total{reason="lease-expired"} 0',
    'tollgate_billing_late_settlements_total 0',
    'tollgate_billing_written_off_pico_usd_total 0',
    'tollgate_billing_accounts_frozen 0',
    'tollgate_billing_over_pico_usd_total 0',
  ]);
});
