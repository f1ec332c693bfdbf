import { runService } from '#observability/run-service.js';

runService('gateway', async () => ({
  Config: (await import('./gateway.config.js')).GatewayConfig,
  start: (await import('./start-gateway.js')).startGateway,
}));
