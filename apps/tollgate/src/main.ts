import { runService } from '#observability/run-service.js';

runService('tollgate', async () => ({
  Config: (await import('./tollgate.config.js')).TollgateConfig,
  start: (await import('./start-tollgate.js')).startTollgate,
}));
