import { randomUUID } from 'node:crypto';
import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { asUnavailable } from '#database/database-outage.js';
import { JournalReads } from '#database/journal-reads.js';
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
import { startTracing } from '#tracing/start-tracing.js';
import type { BillingConfig } from './billing.config.js';
import { BackgroundWork, billingModule } from './billing.module.js';

const SERVICE = 'billing';
const translateError = (error: unknown) => asUnavailable(error, 'The billing database cannot be reached at the moment.');

/** A read takes one processor of the server, not three: the places count what the server has to do. */
const READS_SETTINGS = { max_parallel_workers_per_gather: '0' };

/** Starts the billing service. Returns a function that stops it. */
export async function startBilling(config: BillingConfig, logger: Logger): Promise<() => Promise<void>> {
  const registry = new Registry();
  const prisma = createPrismaClient({ url: config.databaseUrl, applicationName: 'tollgate-billing', registry });
  const readsPrisma = createPrismaClient({
    ...{ url: config.databaseUrl, applicationName: 'tollgate-billing-reads', registry, pool: 'reads' },
    connectionsMax: config.journalReadsMax,
    statementTimeoutMs: config.journalReadTimeoutMs,
    settings: READS_SETTINGS,
  });
  const reads = new JournalReads(readsPrisma, { runningMax: config.journalReadsMax, shareMax: config.accountJournalReadsMax });
  let connected = (): boolean => false;
  let isListening = false;
  const database = [postgresReadiness(prisma, config.databaseUrl), schemaReadiness(prisma)];
  const checks = [{ name: 'nats', check: () => connected() }, ...database, { name: 'listening', check: () => isListening }];
  // The ops port opens first: the process is live, though not ready, while it waits for NATS.
  const ops = await startOpsServer({ host: config.opsHost, port: config.opsPort, registry, checks });
  const metricsExport = await startMetricsExport({ name: SERVICE, registry, logger });
  const { shutdownGraceMs } = config;
  const replicaId = randomUUID();
  registerCertificateExpiry(registry, () => [...natsCertificates(config), ...postgresCertificates(config.databaseUrl)]);
  const messaging = await connectMessaging({ ...natsAccess(config), service: SERVICE, logger, registry, resumeMs: config.streamResumeMs });
  connected = () => messaging.connected;
  // Subscribing earlier would take requests from replicas that can answer them.
  await untilReady(database, logger);
  await refuseTransactionPooler(config.databaseUrl, 'tollgate-billing');
  const description = 'Accounts, keys, holds, limits and the ledger';
  const tracer = await startTracing({ name: SERVICE, registry, logger });
  const app = await NestFactory.createMicroservice(
    billingModule({ config, logger, registry, prisma, reads, messaging, replicaId, tracer }),
    {
      strategy: new NatsTransport({ messaging, name: SERVICE, description, logger, replicaId, shutdownGraceMs, translateError }),
      logger: new FrameworkLogger(logger),
    },
  );
  await app.listen();
  isListening = true;
  return async () => {
    ops.drain();
    const withinGrace = beginGrace(shutdownGraceMs);
    app.get(BackgroundWork).cancel();
    await app.close();
    await messaging.close();
    await tracer?.close();
    await withinGrace(Promise.all([prisma.$disconnect(), readsPrisma.$disconnect()]));
    await metricsExport?.close();
    await ops.close();
  };
}
