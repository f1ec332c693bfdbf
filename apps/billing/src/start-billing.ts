import { randomUUID } from 'node:crypto';
import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { asUnavailable } from '#database/database-outage.js';
import { ServiceDatabase } from '#database/service-database.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { openService } from '#messaging/open-service.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import type { BillingConfig } from './billing.config.js';
import { BackgroundWork, billingModule } from './billing.module.js';

const SERVICE = 'billing';
const translateError = (error: unknown) => asUnavailable(error, 'The billing database cannot be reached at the moment.');

/** Starts the billing service. Returns a function that stops it. */
export async function startBilling(config: BillingConfig, logger: Logger): Promise<() => Promise<void>> {
  const registry = new Registry();
  const database = new ServiceDatabase({ service: SERVICE, url: config.databaseUrl, registry });
  const reads = database.reads({
    runningMax: config.journalReadsMax,
    shareMax: config.accountJournalReadsMax,
    statementTimeoutMs: config.journalReadTimeoutMs,
  });
  let isListening = false;
  const service = await openService({
    ...{ name: SERVICE, config, logger, registry },
    checks: (nats) => [nats, ...database.checks, { name: 'listening', check: () => isListening }],
    certificates: () => database.certificates(),
    isTraced: true,
  });
  const { messaging, tracer } = service;
  const replicaId = randomUUID();
  // Subscribing earlier would take requests from replicas that can answer them.
  await database.ready(logger);
  const { prisma } = database;
  const { shutdownGraceMs } = config;
  const description = 'Accounts, keys, holds, limits and the ledger';
  const app = await NestFactory.createMicroservice(
    billingModule({ config, logger, registry, prisma, reads, messaging, replicaId, tracer }),
    {
      strategy: new NatsTransport({ messaging, name: SERVICE, description, logger, replicaId, shutdownGraceMs, translateError }),
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
