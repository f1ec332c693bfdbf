import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { readSecret } from '#config/load-config.js';
import { asUnavailable } from '#database/database-outage.js';
import { postgresReadiness } from '#database/postgres-readiness.js';
import { postgresCertificates } from '#database/postgres-url.js';
import { createPrismaClient } from '#database/prisma-client.js';
import { schemaReadiness } from '#database/schema-readiness.js';
import { refuseTransactionPooler } from '#database/transaction-pooler.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { natsAccess, natsCertificates } from '#messaging/nats-access.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { registerCertificateExpiry } from '#observability/certificate-expiry.js';
import { beginGrace } from '#observability/grace.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { startOpsServer } from '#observability/ops-server.js';
import { startMetricsExport } from '#observability/otlp/start-metrics-export.js';
import { untilReady } from '#observability/readiness.js';
import type { CatalogConfig } from './catalog.config.js';
import { BackgroundWork, catalogModule } from './catalog.module.js';
import { readStartFile } from './start-file.js';

const SERVICE = 'catalog';
const translateError = (error: unknown) => asUnavailable(error, 'The catalog database cannot be reached at the moment.');

/** Starts the catalog service. Returns a function that stops it. */
export async function startCatalog(config: CatalogConfig, logger: Logger): Promise<() => Promise<void>> {
  const file = await readStartFile(config.catalogFile, readSecret);
  const registry = new Registry();
  const prisma = createPrismaClient({ url: config.databaseUrl, applicationName: 'tollgate-catalog', registry });
  let connected = (): boolean => false;
  let isReady = (): boolean => false;
  const database = [postgresReadiness(prisma, config.databaseUrl), schemaReadiness(prisma)];
  const checks = [{ name: 'nats', check: () => connected() }, ...database, { name: 'catalog', check: () => isReady() }];
  // The ops port opens first: the process is live, though not ready, while it waits for NATS.
  const ops = await startOpsServer({ host: config.opsHost, port: config.opsPort, registry, checks });
  const metricsExport = await startMetricsExport({ name: SERVICE, registry, logger });
  const { shutdownGraceMs } = config;
  registerCertificateExpiry(registry, () => [...natsCertificates(config), ...postgresCertificates(config.databaseUrl)]);
  const messaging = await connectMessaging({ ...natsAccess(config), service: SERVICE, logger, registry, resumeMs: config.streamResumeMs });
  connected = () => messaging.connected;
  // Subscribing earlier would take requests from replicas that can answer them.
  await untilReady(database, logger);
  await refuseTransactionPooler(config.databaseUrl, 'tollgate-catalog');
  const description = 'Models, prices, capabilities and routes';
  const app = await NestFactory.createMicroservice(catalogModule({ config, logger, registry, prisma, messaging, file }), {
    strategy: new NatsTransport({ messaging, name: SERVICE, description, logger, shutdownGraceMs, translateError }),
    logger: new FrameworkLogger(logger),
  });
  await app.listen();
  const work = app.get(BackgroundWork);
  isReady = () => work.isReady;
  await untilReady(checks, logger);
  return async () => {
    ops.drain();
    const withinGrace = beginGrace(shutdownGraceMs);
    work.cancel();
    await app.close();
    await messaging.close();
    await withinGrace(prisma.$disconnect());
    await metricsExport?.close();
    await ops.close();
  };
}
