import type { Registry } from 'prom-client';
import { metricsIn } from '#observability/metrics-in.js';

export type CatalogMetrics = ReturnType<typeof createCatalogMetrics>;

export function createCatalogMetrics(registry: Registry) {
  const { counter, gauge } = metricsIn(registry);
  const metrics = {
    revision: gauge('tollgate_catalog_revision', 'Revision that this replica serves'),
    models: gauge('tollgate_catalog_models', 'Enabled models'),
    applies: counter('tollgate_catalog_applies_total', 'Applied catalogs by outcome: changed, unchanged, refused, failed', ['outcome']),
    refreshFailures: counter('tollgate_catalog_refresh_failures_total', 'Failed reads of the database; the last revision stays in use'),
  };
  // Counters start at 0: rate() misses an increment from nothing to 1.
  for (const outcome of ['changed', 'unchanged', 'refused', 'failed'] as const) metrics.applies.inc({ outcome }, 0);
  return metrics;
}
