import { loadConfig } from '#config/load-config.js';
import { createLogger } from '#observability/logger.js';
import { runService } from '#observability/run-service.js';
import { startSimServer } from './sim-server.js';
import { UpstreamSimConfig } from './upstream-sim.config.js';

const logger = createLogger('upstream-sim', 'info');

runService(logger, async () => {
  const config = loadConfig(UpstreamSimConfig);
  logger.level = config.logLevel;
  const server = await startSimServer({
    host: config.host,
    port: config.upstreamSimPort,
    apiKey: config.upstreamSimApiKey,
    defaults: config.upstreamSimDefaults,
    record: config.simRecord,
  });
  logger.info({ url: server.url }, 'listening');
  return () => server.close();
});
