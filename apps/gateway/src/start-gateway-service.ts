import { Registry } from 'prom-client';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import type { Logger } from '#observability/logger.js';
import { type ReadinessCheck, startOpsServer } from '#observability/ops-server.js';
import type { GatewayConfig } from './gateway.config.js';
import { startGateway } from './start-gateway.js';

const SERVICE = 'gateway';

/** Starts the gateway with what surrounds it: its ops port, NATS, and its entry in service discovery. Returns how to stop it. */
export async function startGatewayService(config: GatewayConfig, logger: Logger): Promise<() => Promise<void>> {
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
}
