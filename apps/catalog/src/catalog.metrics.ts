import { Counter, Gauge, type Registry } from 'prom-client';

export type CatalogMetrics = ReturnType<typeof createCatalogMetrics>;

export function createCatalogMetrics(registry: Registry) {
  const registers = [registry];
  return {
    revision: new Gauge({ name: 'tollgate_catalog_revision', help: 'Revision this replica answers with', registers }),
    models: new Gauge({ name: 'tollgate_catalog_models', help: 'Enabled models', registers }),
    applies: new Counter({
      name: 'tollgate_catalog_applies_total',
      help: 'Catalogs handed in, by outcome: changed, unchanged, refused, failed',
      labelNames: ['outcome'] as const,
      registers,
    }),
    refreshFailures: new Counter({
      name: 'tollgate_catalog_refresh_failures_total',
      help: 'Reads of the database that failed; the last revision stays in use',
      registers,
    }),
  };
}
