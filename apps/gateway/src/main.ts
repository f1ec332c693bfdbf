import 'reflect-metadata';
import { Registry } from 'prom-client';
import { loadConfig } from '#config/load-config.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { createLogger } from '#observability/logger.js';
import { startOpsServer } from '#observability/ops-server.js';
import { runService } from '#observability/run-service.js';
import { GatewayConfig } from './gateway.config.js';
import { startGateway } from './start-gateway.js';

const SERVICE = 'gateway';
const logger = createLogger(SERVICE, 'info');

runService(logger, async () => {
  const config = loadConfig(GatewayConfig);
  logger.level = config.logLevel;
  const registry = new Registry();
  const messaging = await connectMessaging({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    service: SERVICE,
    logger,
  });
  const gateway = await startGateway({ config, logger, registry, messaging });
  const ops = await startOpsServer({ host: config.opsHost, port: config.opsPort, checks: gateway.readinessChecks, registry });
  return async () => {
    ops.drain();
    await gateway.close();
    await messaging.close();
    await ops.close();
  };
});
