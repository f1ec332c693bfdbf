import { randomUUID } from 'node:crypto';
import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { asUnavailable } from '#database/database-outage.js';
import { ServiceDatabase } from '#database/service-database.js';
import { OWN_PROCESS, openService, type ServiceHost } from '#messaging/open-service.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import type { BillingConfig } from './billing.config.js';
import { BackgroundWork, billingModule } from './billing.module.js';

const SERVICE = 'billing';
const translateError = (error: unknown) => asUnavailable(error, 'The billing database cannot be reached at the moment.');

/** Starts the billing service. Returns a function that stops it. */
export async function startBilling(config: BillingConfig, logger: Logger, host: ServiceHost = OWN_PROCESS): Promise<() => Promise<void>> {
  const registry = new Registry();
  const database = new ServiceDatabase({ service: SERVICE, url: config.databaseUrl, registry });
  const reads = database.reads({
    runningMax: config.journalReadsMax,
    shareMax: config.accountJournalReadsMax,
    statementTimeoutMs: config.journalReadTimeoutMs,
  });
  let isListening = false;
  const service = await openService({
    ...{ name: SERVICE, host, config, logger, registry },
    checks: (nats) => [nats, ...database.checks, { name: 'listening', check: () => isListening }],
    certificates: () => database.certificates(),
    isTraced: true,
  });
  const { messaging, tracer } = service;
  const replicaId = randomUUID();
  // Subscribing earlier would take requests from replicas that can answer them.
  await database.ready(logger);
  const { prisma } = database;
  const description = 'Accounts, keys, holds, limits and the ledger';
  const app = await NestFactory.createMicroservice(
    billingModule({ config, logger, registry, prisma, reads, messaging, replicaId, tracer }),
    {
      strategy: service.transport({ description, replicaId, translateError }),
      logger: new FrameworkLogger(logger),
    },
  );
  await app.listen();
  isListening = true;
  const stop = async (): Promise<void> => {
    app.get(BackgroundWork).cancel();
    await app.close();
  };
  return () => service.close({ stop, disconnect: () => database.disconnect() });
}
