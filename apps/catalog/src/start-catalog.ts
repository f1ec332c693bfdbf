import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { readSecret } from '#config/load-config.js';
import { asUnavailable } from '#database/database-outage.js';
import { ServiceDatabase } from '#database/service-database.js';
import { OWN_PROCESS, openService, type ServiceHost } from '#messaging/open-service.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { untilReady } from '#observability/readiness.js';
import type { CatalogConfig } from './catalog.config.js';
import { BackgroundWork, catalogModule } from './catalog.module.js';
import { readStartFile } from './start-file.js';

const SERVICE = 'catalog';
const translateError = (error: unknown) => asUnavailable(error, 'The catalog database cannot be reached at the moment.');

/** Starts the catalog service. Returns a function that stops it. */
export async function startCatalog(config: CatalogConfig, logger: Logger, host: ServiceHost = OWN_PROCESS): Promise<() => Promise<void>> {
  const file = await readStartFile(config.catalogFile, readSecret);
  const registry = new Registry();
  const database = new ServiceDatabase({ service: SERVICE, url: config.databaseUrl, registry });
  let work: BackgroundWork | undefined;
  const isReady = { name: 'catalog', check: () => work?.isReady === true };
  const service = await openService({
    ...{ name: SERVICE, host, config, logger, registry },
    checks: (nats) => [nats, ...database.checks, isReady],
    certificates: () => database.certificates(),
  });
  const { messaging } = service;
  // Subscribing earlier would take requests from replicas that can answer them.
  await database.ready(logger);
  const description = 'Models, prices, capabilities and routes';
  const app = await NestFactory.createMicroservice(catalogModule({ config, logger, registry, prisma: database.prisma, messaging, file }), {
    strategy: service.transport({ description, translateError }),
    logger: new FrameworkLogger(logger),
  });
  await app.listen();
  work = app.get(BackgroundWork);
  await untilReady(service.checks, logger);
  const stop = async (): Promise<void> => {
    app.get(BackgroundWork).cancel();
    await app.close();
  };
  return () => service.close({ stop, disconnect: () => database.disconnect() });
}
