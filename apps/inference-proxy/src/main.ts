import 'reflect-metadata';
import { loadConfig } from '#config/load-config.js';
import { createLogger } from '#observability/logger.js';
import { runService } from '#observability/run-service.js';
import { InferenceProxyConfig } from './inference-proxy.config.js';
import { startInferenceProxy } from './start-inference-proxy.js';

const logger = createLogger('inference-proxy', 'info');

runService(logger, async () => {
  const config = loadConfig(InferenceProxyConfig);
  logger.level = config.logLevel;
  return startInferenceProxy(config, logger);
});
