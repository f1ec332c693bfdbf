import { runService } from '#observability/run-service.js';

runService('upstream-sim', async () => ({
  Config: (await import('./upstream-sim.config.js')).UpstreamSimConfig,
  start: (await import('./start-upstream-sim.js')).startUpstreamSim,
}));
