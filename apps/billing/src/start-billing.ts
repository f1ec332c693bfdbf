import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { postgresReadiness } from '#database/postgres-readiness.js';
import { createPrismaClient } from '#database/prisma-client.js';
import { schemaReadiness } from '#database/schema-readiness.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { beginGrace } from '#observability/grace.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { startOpsServer } from '#observability/ops-server.js';
import type { BillingConfig } from './billing.config.js';
import { createBillingMetrics, forgetLedgerCheck, recordBatch, recordLedgerCheck } from './billing.metrics.js';
import { billingModule } from './billing.module.js';
import { BillingEvents } from './events/billing-events.js';
import { readThreshold } from './events/read-threshold.js';
import { LANE_SETTINGS } from './holds/apply-batch.js';
import { HoldLanes } from './holds/hold-lanes.js';
import { Lane } from './holds/lane.js';
import { Reaper } from './holds/reaper.js';
import { Renewals } from './holds/renewals.js';
import { KeyLookups } from './keys/key-lookups.js';
import { Auditor } from './ledger/auditor.js';
import { type OnConnection, Treasury } from './ledger/treasury.js';

/** Renewals are many and small: a whole proxy's fit in one batch, and several wait without harm. */
const RENEWAL_BATCH_MAX = 4_096;
const RENEWAL_QUEUE_MAX = 65_536;

/** Digests in one query: it takes about a millisecond, which is what a lookup beside a flood of guesses waits. */
const LOOKUP_BATCH_MAX = 256;

/** Longer than the reaper takes to come by, even when it has to extend all leases first. */
const HOLD_OVERDUE_MS = 60_000;

/** Starts the service: every object of it on one screen. Returns how to stop it. */
export async function startBilling(config: BillingConfig, logger: Logger): Promise<() => Promise<void>> {
  const registry = new Registry();
  const metrics = createBillingMetrics(registry);
  const prisma = createPrismaClient({ url: config.databaseUrl, applicationName: 'tollgate-billing' });
  let connected = (): boolean => false;
  const ops = await startOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    registry,
    checks: [{ name: 'nats', check: () => connected() }, postgresReadiness(prisma), schemaReadiness(prisma)],
  });
  const { natsUrl: url, natsUser: user, natsPassword: password } = config;
  const messaging = await connectMessaging({ url, user, password, service: 'billing', logger });
  connected = () => messaging.connected;

  const connect = (): Promise<PgConnection> =>
    connectPg({
      url: config.databaseUrl,
      applicationName: 'tollgate-billing-lane',
      statementTimeoutMs: 2_000,
      connectTimeoutMs: 1_000,
      settings: LANE_SETTINGS,
    });
  const events = new BillingEvents({
    messaging,
    holdSettled: config.holdSettledEvents,
    readThreshold: (accountId) => readThreshold(prisma, accountId),
    logger,
  });
  const { leaseMs, reaperGraceMs, batchMax, queueMax, accountQueueMax, applyDeadlineMs: deadlineMs } = config;
  const terms = { leaseMs, reaperGraceMs };
  const lanes = new HoldLanes({
    lanes: config.lanes,
    terms,
    connect,
    batchMax,
    queueMax,
    accountQueueMax,
    deadlineMs,
    logger,
    onApplied: (applied, milliseconds) => {
      recordBatch(metrics, applied, milliseconds, lanes.queued);
      events.applied(applied);
    },
  });
  const renewals = new Renewals(leaseMs, { connect, batchMax: RENEWAL_BATCH_MAX, queueMax: RENEWAL_QUEUE_MAX, deadlineMs, logger });
  const lookups = new KeyLookups(config.keyPepper, { connect, batchMax: LOOKUP_BATCH_MAX, queueMax, deadlineMs, logger });
  const moneyLane = new Lane<(connection: PgConnection) => Promise<unknown>, unknown>({
    connect,
    batchMax: 1,
    queueMax,
    deadlineMs,
    logger,
    work: (connection, items) => Promise.all(items.map((work) => work(connection))),
  });
  const treasury = new Treasury(((work) => moneyLane.push(work)) as OnConnection, events);
  const auditor = new Auditor({
    connect: () =>
      connectPg({
        url: config.databaseUrl,
        applicationName: 'tollgate-billing-auditor',
        statementTimeoutMs: config.ledgerCheckTimeoutMs,
        // A replica that stops in the middle of a check must not keep its snapshot, which a change of the schema waits for.
        settings: { idle_in_transaction_session_timeout: '10000' },
      }),
    overdueMs: reaperGraceMs + HOLD_OVERDUE_MS,
    intervalMs: config.ledgerCheckIntervalMs,
    onChecked: (report, accountsFrozen) => recordLedgerCheck(metrics, report, accountsFrozen),
    onFollowing: () => forgetLedgerCheck(metrics),
    logger,
  });

  const description = 'Accounts, keys, holds, limits and the ledger';
  const app = await NestFactory.createMicroservice(
    billingModule({ config, prisma, messaging, lanes, renewals, lookups, treasury, auditor, events }),
    {
      strategy: new NatsTransport({
        messaging,
        name: 'billing',
        description,
        logger,
        shutdownGraceMs: config.shutdownGraceMs,
      }),
      logger: new FrameworkLogger(logger),
    },
  );
  await app.listen();
  const reaper = new Reaper({
    connect,
    lanes,
    terms,
    intervalMs: config.reaperIntervalMs,
    sweepIntervalMs: config.planSweepIntervalMs,
    renewalsArrive: async () => connected() && (await renewals.arrive()),
    onOpenHolds: (count) => metrics.holdsOpen.set(count),
    logger,
  });
  reaper.start();
  if (config.ledgerCheckIntervalMs > 0) auditor.start();

  return async () => {
    ops.drain();
    const withinGrace = beginGrace(config.shutdownGraceMs);
    // A check can be given up without loss, and a caller that waits for one would keep the service from closing.
    await Promise.all([withinGrace(auditor.stop()), withinGrace(reaper.stop()), app.close()]);
    await withinGrace(Promise.all([lanes.close(), renewals.close(), lookups.close(), moneyLane.close()]));
    await messaging.close();
    await withinGrace(prisma.$disconnect());
    await ops.close();
  };
}
