import { type DynamicModule, Module, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Registry } from 'prom-client';
import { JournalReads } from '#database/journal-reads.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { ConfirmedPublisher, Messaging } from '#messaging/messaging.js';
import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import { beginGrace } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import type { Tracer } from '#tracing/tracer.js';
import { LANE_SETTINGS } from './batch/apply-batch.js';
import { HoldLanes } from './batch/hold-lanes.js';
import { Lane } from './batch/lane.js';
import { BillingConfig } from './billing.config.js';
import {
  createBillingMetrics,
  forgetLedgerCheck,
  recordBatch,
  recordLedgerCheck,
  recordUndelivered,
  watchLanes,
} from './billing.metrics.js';
import { AccountsController } from './controllers/accounts.controller.js';
import { AuditController } from './controllers/audit.controller.js';
import { BudgetsController } from './controllers/budgets.controller.js';
import { HoldsController } from './controllers/holds.controller.js';
import { LOGGER, MESSAGING, PRISMA } from './controllers/injected.js';
import { KeysController } from './controllers/keys.controller.js';
import { LedgerController } from './controllers/ledger.controller.js';
import { MoneyController } from './controllers/money.controller.js';
import { MonthsController } from './controllers/months.controller.js';
import { UsageController } from './controllers/usage.controller.js';
import { WebhooksController } from './controllers/webhooks.controller.js';
import { EventDeliverer } from './events/event-deliverer.js';
import { ReplicaAnnouncements } from './events/replica-announcements.js';
import { SettledEvents } from './events/settled-events.js';
import { WebhookDeliveries } from './events/webhook-deliveries.js';
import { Reaper } from './holds/reaper.js';
import { Renewals } from './holds/renewals.js';
import { KeyLookups } from './keys/key-lookups.js';
import { Auditor } from './ledger/auditor.js';
import { MoneyOperations, type OnConnection } from './ledger/money-operations.js';
import { MonthKeeper } from './months/month-keeper.js';
import { Months } from './months/months.js';
import { UsageCloser } from './usage/usage-closer.js';
import { WebhookClient } from './webhooks/webhook-client.js';

/** Renewals are many and small: those of a whole proxy fit in one batch. */
const RENEWAL_BATCH_MAX = 4_096;
const RENEWAL_QUEUE_MAX = 65_536;

/** Digests in one query, which takes about a millisecond: a lookup waits no longer beside a flood of guesses. */
const LOOKUP_BATCH_MAX = 256;

/** Longest statement of closing, detaching or attaching a month: some 300 million settlements. */
const MONTH_TIMEOUT_MS = 3_600_000;

/** The reaper comes by within this time after a lease and its grace, even when it first extends all leases. */
const HOLD_OVERDUE_MS = 60_000;

/** A suspended process must not keep the lock of the deliverer. A mark that a crash of the server loses repeats a delivery. */
const DELIVERER_SETTINGS = { idle_session_timeout: '30000', synchronous_commit: 'off' };

interface BillingDependencies {
  config: BillingConfig;
  logger: Logger;
  registry: Registry;
  prisma: PrismaClient;
  reads: JournalReads;
  messaging: Messaging & ConfirmedPublisher;
  replicaId: string;
  /** Absent while traces are not exported. */
  tracer?: Tracer | undefined;
}

@Module({})
class BillingModule {}

/** The composition root: every object of the service with its dependencies. `BackgroundWork` starts and stops them. */
export function billingModule({
  config,
  logger,
  registry,
  prisma,
  reads,
  messaging,
  replicaId,
  tracer,
}: BillingDependencies): DynamicModule {
  const { databaseUrl: url, leaseMs, reaperGraceMs, batchMax, queueMax, accountQueueMax, applyDeadlineMs: deadlineMs } = config;
  const metrics = createBillingMetrics(registry);
  const connect = (): Promise<PgConnection> => {
    const limits = { statementTimeoutMs: 2_000, connectTimeoutMs: 1_000 };
    return connectPg({ url, applicationName: 'tollgate-billing-lane', ...limits, settings: LANE_SETTINGS });
  };
  const settledEvents = config.holdSettledEvents ? new SettledEvents(messaging, logger) : undefined;
  const lanes = new HoldLanes({
    lanes: config.lanes,
    times: { leaseMs, reaperGraceMs },
    connect,
    batchMax,
    queueMax,
    accountQueueMax,
    deadlineMs,
    logger,
    tracer,
    onApplied: (applied, milliseconds) => {
      recordBatch(metrics, applied, milliseconds);
      settledEvents?.applied(applied);
    },
  });
  watchLanes(registry, lanes);
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
  const reaper = new Reaper({
    connect,
    lanes,
    times: { leaseMs, reaperGraceMs },
    intervalMs: config.reaperIntervalMs,
    sweepIntervalMs: config.planSweepIntervalMs,
    renewalsArrive: async () => messaging.connected && (await renewals.canStore()),
    onOpenHolds: (count, picoUsd) => {
      metrics.holdsOpen.set(count);
      metrics.heldPicoUsd.set(picoUsd);
    },
    logger,
  });
  // For statements that read the whole journal.
  const connectForMinutes = (): Promise<PgConnection> =>
    connectPg({
      url,
      applicationName: 'tollgate-billing-auditor',
      statementTimeoutMs: config.ledgerCheckTimeoutMs,
      // A replica that stops during a check must not keep its snapshot, which a migration waits for.
      settings: { idle_in_transaction_session_timeout: '10000' },
    });
  const usageCloser = new UsageCloser({
    connect: connectForMinutes,
    intervalMs: config.usageCloseIntervalMs,
    onClosed: (at) => metrics.usageClosedAt.set(at.getTime() / 1_000),
    logger,
  });
  const auditor = new Auditor({
    connect: connectForMinutes,
    overdueMs: reaperGraceMs + HOLD_OVERDUE_MS,
    intervalMs: config.ledgerCheckIntervalMs,
    onChecked: (report, counts) => recordLedgerCheck(metrics, report, counts),
    onFollowing: () => forgetLedgerCheck(metrics),
    logger,
  });
  // Statements that read a whole month.
  const connectForHours = (): Promise<PgConnection> =>
    connectPg({
      url,
      applicationName: 'tollgate-billing-months',
      statementTimeoutMs: MONTH_TIMEOUT_MS,
      settings: { idle_in_transaction_session_timeout: '10000' },
    });
  const months = new Months({ connect: connectForHours, prisma });
  const monthKeeper = new MonthKeeper(prisma, months, logger);
  const webhookClient = new WebhookClient({ proxies: new ForwardProxies(config) });
  const deliverer = new EventDeliverer({
    connect: () => connectPg({ url, applicationName: 'tollgate-billing-events', statementTimeoutMs: 5_000, settings: DELIVERER_SETTINGS }),
    messaging,
    webhooks: new WebhookDeliveries({ client: webhookClient, pepper: config.keyPepper, logger }),
    intervalMs: config.eventIntervalMs,
    onCounted: (counts) => recordUndelivered(metrics, counts),
    logger,
  });
  const announcements = new ReplicaAnnouncements(replicaId, messaging, lanes);
  return {
    module: BillingModule,
    controllers: [
      HoldsController,
      MoneyController,
      KeysController,
      AccountsController,
      BudgetsController,
      UsageController,
      LedgerController,
      MonthsController,
      AuditController,
      WebhooksController,
    ],
    providers: [
      { provide: BillingConfig, useValue: config },
      { provide: PRISMA, useValue: prisma },
      { provide: JournalReads, useValue: reads },
      { provide: MESSAGING, useValue: messaging },
      { provide: LOGGER, useValue: logger },
      { provide: HoldLanes, useValue: lanes },
      { provide: Renewals, useValue: renewals },
      { provide: KeyLookups, useValue: lookups },
      { provide: MoneyOperations, useValue: new MoneyOperations(((work) => moneyLane.push(work)) as OnConnection) },
      { provide: Auditor, useValue: auditor },
      { provide: UsageCloser, useValue: usageCloser },
      { provide: Months, useValue: months },
      { provide: WebhookClient, useValue: webhookClient },
      {
        provide: BackgroundWork,
        useValue: new BackgroundWork(
          config,
          { auditor, reaper, usageCloser, months, monthKeeper, announcements, deliverer },
          [lanes, renewals, lookups, moneyLane],
          webhookClient,
        ),
      },
    ],
  };
}

/** Work beside the requests. Nest calls the hooks, the last one when its transport has closed. */
export class BackgroundWork implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private withinGrace = beginGrace(0);
  private stopped: Promise<unknown> | undefined;

  constructor(
    private readonly config: BillingConfig,
    private readonly work: {
      auditor: Auditor;
      reaper: Reaper;
      usageCloser: UsageCloser;
      months: Months;
      monthKeeper: MonthKeeper;
      announcements: ReplicaAnnouncements;
      deliverer: EventDeliverer;
    },
    private readonly lanes: readonly { open(): Promise<void>; close(): Promise<void> }[],
    private readonly webhookClient: Pick<WebhookClient, 'close'>,
  ) {}

  /** Runs before the transport takes requests: a replica whose lanes are not connected would refuse them. */
  async onModuleInit(): Promise<void> {
    await Promise.all(this.lanes.map((lane) => lane.open()));
  }

  onApplicationBootstrap(): void {
    const { auditor, reaper, usageCloser, monthKeeper, announcements, deliverer } = this.work;
    reaper.start();
    usageCloser.start();
    monthKeeper.start();
    announcements.start();
    deliverer.start();
    if (this.config.ledgerCheckIntervalMs > 0) auditor.start();
  }

  /**
   * Call before the transport closes: a caller that waits for a ledger check would keep it open, and nothing may be reaped when renewals
   * no longer arrive.
   */
  cancel(): void {
    this.withinGrace = beginGrace(this.config.shutdownGraceMs);
    const { announcements, ...others } = this.work;
    announcements.stop();
    this.stopped = Promise.all(Object.values(others).map((work) => work.stop()));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.withinGrace(Promise.resolve(this.stopped));
    await this.withinGrace(Promise.all([...this.lanes, this.webhookClient].map((one) => one.close())));
  }
}
