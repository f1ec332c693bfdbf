import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { readSecret } from '#config/load-config.js';
import { catalogChanged } from '#contracts/catalog.js';
import { postgresReadiness } from '#database/postgres-readiness.js';
import { createPrismaClient } from '#database/prisma-client.js';
import { schemaReadiness } from '#database/schema-readiness.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { startOpsServer } from '#observability/ops-server.js';
import { Announcements } from './announcements.js';
import { Applier } from './apply/applier.js';
import { CatalogStore } from './apply/catalog-store.js';
import type { CatalogConfig } from './catalog.config.js';
import { createCatalogMetrics } from './catalog.metrics.js';
import { catalogModule } from './catalog.module.js';
import { Snapshot } from './snapshot.js';
import { applyStartFile, readStartFile } from './start-file.js';

/**
 * Starts the service: every object of it on one screen. Serves as soon as NATS is there, and is ready once its file is
 * applied and read back. Returns how to stop it.
 */
export async function startCatalog(config: CatalogConfig, logger: Logger): Promise<() => Promise<void>> {
  const file = await readStartFile(config.catalogFile, readSecret);
  const registry = new Registry();
  const metrics = createCatalogMetrics(registry);
  const prisma = createPrismaClient({ url: config.databaseUrl, applicationName: 'tollgate-catalog' });
  const store = new CatalogStore(prisma);
  let connected = (): boolean => false;
  let isReady = (): boolean => false;
  const ops = await startOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    registry,
    checks: [
      { name: 'nats', check: () => connected() },
      postgresReadiness(prisma),
      schemaReadiness(prisma),
      { name: 'catalog', check: () => isReady() },
    ],
  });

  const { natsUrl: url, natsUser: user, natsPassword: password } = config;
  const messaging = await connectMessaging({ url, user, password, service: 'catalog', logger });
  connected = () => messaging.connected;
  const announcements = new Announcements(messaging);
  const snapshot = new Snapshot(store, announcements, logger, metrics);
  const unsubscribe = messaging.subscribe(catalogChanged, ({ revision }) => {
    announcements.heard(revision);
    void snapshot.refresh();
  });
  messaging.onReconnect(() => {
    announcements.forget();
    void snapshot.refresh();
  });
  const applier = new Applier(store, snapshot, announcements, readSecret, metrics, logger);
  const transport = new NatsTransport({
    messaging,
    name: 'catalog',
    description: 'Models, prices, capabilities and routes',
    logger,
    shutdownGraceMs: config.shutdownGraceMs,
  });
  const app = await NestFactory.createMicroservice(catalogModule({ snapshot, applier }), {
    strategy: transport,
    logger: new FrameworkLogger(logger),
  });
  await app.listen();

  const stopping = new AbortController();
  // Nothing is answered before the file is applied: a gateway that asked too early would remember an empty catalog.
  snapshot.startInterval(config.catalogRefreshMs);
  let fileApplied = false;
  isReady = () => fileApplied && snapshot.exists;
  const applying = applyStartFile(file, applier, logger, stopping.signal).then((applied) => {
    fileApplied = applied;
  });

  return async () => {
    ops.drain();
    stopping.abort();
    await app.close();
    unsubscribe();
    await applying;
    await snapshot.stop();
    await messaging.close();
    await prisma.$disconnect();
    await ops.close();
  };
}
