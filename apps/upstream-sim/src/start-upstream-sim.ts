import type { Logger } from '#observability/logger.js';
import { startSimServer } from './sim-server.js';
import type { UpstreamSimConfig } from './upstream-sim.config.js';

/** Starts the simulator. Returns a function that stops it and cuts open requests off. */
export async function startUpstreamSim(config: UpstreamSimConfig, logger: Logger): Promise<() => Promise<void>> {
  const server = await startSimServer({
    host: config.host,
    port: config.upstreamSimPort,
    apiKey: config.upstreamSimApiKey,
    defaults: config.upstreamSimDefaults,
    record: config.simRecord,
  });
  logger.info({ url: server.url }, 'listening');
  return () => server.close();
}
