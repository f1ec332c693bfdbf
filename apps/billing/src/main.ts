import { runService } from '#observability/run-service.js';

runService('billing', async () => ({
  Config: (await import('./billing.config.js')).BillingConfig,
  start: (await import('./start-billing.js')).startBilling,
}));
