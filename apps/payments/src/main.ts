import { runService } from '#observability/run-service.js';

runService('payments', async () => ({
  Config: (await import('./payments.config.js')).PaymentsConfig,
  start: (await import('./start-payments.js')).startPayments,
}));
