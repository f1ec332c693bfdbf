import 'reflect-metadata';
import { loadConfig } from '#config/load-config.js';
import { createLogger } from '#observability/logger.js';
import { runService } from '#observability/run-service.js';
import { BillingConfig } from './billing.config.js';
import { startBilling } from './start-billing.js';

const logger = createLogger('billing', 'info');

runService(logger, async () => {
  const config = loadConfig(BillingConfig);
  logger.level = config.logLevel;
  return startBilling(config, logger);
});
