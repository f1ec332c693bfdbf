import { Counter, Gauge, type Registry } from 'prom-client';

export type CatalogMetrics = ReturnType<typeof createCatalogMetrics>;

export function createCatalogMetrics(registry: Registry) {
  const registers = [registry];
  const metrics = {
    revision: new Gauge({ name: 'tollgate_catalog_revision', help: 'Revision that this replica serves', registers }),
    models: new Gauge({ name: 'tollgate_catalog_models', help: 'Enabled models', registers }),
    applies: new Counter({
      name: 'tollgate_catalog_applies_total',
      help: 'Applied catalogs by outcome: changed, unchanged, refused, failed',
      labelNames: ['outcome'] as const,
      registers,
    }),
    refreshFailures: new Counter({
      name: 'tollgate_catalog_refresh_failures_total',
      help: 'Failed reads of the database; the last revision stays in use',
      registers,
    }),
  };
  // Counters start at 0: rate() misses an increment from nothing to 1.
  for (const outcome of ['changed', 'unchanged', 'refused', 'failed'] as const) metrics.applies.inc({ outcome }, 0);
  return metrics;
}
