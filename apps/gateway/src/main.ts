import 'reflect-metadata';
import { Registry } from 'prom-client';
import { loadConfig } from '#config/load-config.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { createLogger } from '#observability/logger.js';
import { type ReadinessCheck, startOpsServer } from '#observability/ops-server.js';
import { runService } from '#observability/run-service.js';
import { GatewayConfig } from './gateway.config.js';
import { startGateway } from './start-gateway.js';

const SERVICE = 'gateway';
const logger = createLogger(SERVICE, 'info');

runService(logger, async () => {
  const config = loadConfig(GatewayConfig);
  logger.level = config.logLevel;
  const registry = new Registry();
  // First of all, so that the service is alive, though not ready, while it waits for NATS.
  let started = false;
  const checks: ReadinessCheck[] = [{ name: 'gateway', check: () => started }];
  const ops = await startOpsServer({ host: config.opsHost, port: config.opsPort, checks, registry });
  const messaging = await connectMessaging({
    url: config.natsUrl,
    user: config.natsUser,
    password: config.natsPassword,
    service: SERVICE,
    logger,
  });
  // Nobody asks anything of the gateway over NATS; this shows it, and its version, to whoever lists the services.
  const discovery = new NatsTransport({
    messaging,
    name: SERVICE,
    description: 'Speaks the client formats over HTTP',
    logger,
  });
  await new Promise<void>((resolve, reject) => discovery.listen((error) => (error ? reject(error) : resolve())));
  const gateway = await startGateway({ config, logger, registry, messaging });
  checks.push(...gateway.readinessChecks);
  started = true;
  return async () => {
    ops.drain();
    await discovery.close();
    await gateway.close();
    await messaging.close();
    await ops.close();
  };
});
