import { runService } from '#observability/run-service.js';

runService('catalog', async () => ({
  Config: (await import('./catalog.config.js')).CatalogConfig,
  start: (await import('./start-catalog.js')).startCatalog,
}));
