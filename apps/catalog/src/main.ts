import 'reflect-metadata';
import { loadConfig } from '#config/load-config.js';
import { createLogger } from '#observability/logger.js';
import { runService } from '#observability/run-service.js';
import { CatalogConfig } from './catalog.config.js';
import { startCatalog } from './start-catalog.js';

const logger = createLogger('catalog', 'info');

runService(logger, async () => {
  const config = loadConfig(CatalogConfig);
  logger.level = config.logLevel;
  return startCatalog(config, logger);
});
