import {
  type DynamicModule,
  Global,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { JournalReads } from '#database/journal-reads.js';
import { beginGrace } from '#observability/grace.js';
import { BillingConfig } from './billing.config.js';
import { createBillingMetrics } from './billing.metrics.js';
import { AccountsController } from './controllers/accounts.controller.js';
import { AuditController } from './controllers/audit.controller.js';
import { BudgetsController } from './controllers/budgets.controller.js';
import { eventsModule } from './controllers/events.module.js';
import { type Feature, provide, type Shared } from './controllers/feature.module.js';
import { holdsModule } from './controllers/holds.module.js';
import { LOGGER, MESSAGING, PRISMA } from './controllers/injected.js';
import { keysModule } from './controllers/keys.module.js';
import { ledgerModule } from './controllers/ledger.module.js';
import { monthsModule } from './controllers/months.module.js';
import { TenantsController } from './controllers/tenants.controller.js';
import { usageModule } from './controllers/usage.module.js';

/** Global: the features are given what all of them share. Controllers that need nothing else are here. */
@Global()
@Module({ controllers: [AccountsController, BudgetsController, TenantsController, AuditController] })
class BillingModule {}

/** The composition root. `BackgroundWork` starts and stops what the features list, in their order. */
export function billingModule(dependencies: Omit<Shared, 'metrics'>): DynamicModule {
  const shared: Shared = { ...dependencies, metrics: createBillingMetrics(dependencies.registry) };
  const holds = holdsModule(shared);
  const features: Feature[] = [
    holds,
    keysModule(shared),
    usageModule(shared),
    monthsModule(shared),
    eventsModule(shared, holds.lanes),
    ledgerModule(shared),
  ];
  const providers = [
    provide(BillingConfig, shared.config),
    provide(JournalReads, shared.reads),
    { provide: PRISMA, useValue: shared.prisma },
    { provide: MESSAGING, useValue: shared.messaging },
    { provide: LOGGER, useValue: shared.logger },
  ];
  const background = provide(BackgroundWork, new BackgroundWork(features, shared.config.shutdownGraceMs));
  return {
    module: BillingModule,
    imports: features.map(({ module }) => module),
    providers: [...providers, background],
    exports: providers,
  };
}

/** Work beside the requests. Nest calls the hooks, the last one when its transport has closed. */
export class BackgroundWork implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private withinGrace = beginGrace(0);
  private stopped: Promise<unknown> | undefined;

  constructor(
    private readonly features: readonly Pick<Feature, 'connections' | 'work'>[],
    private readonly shutdownGraceMs: number,
  ) {}

  async onModuleInit(): Promise<void> {
    await Promise.all(this.connections().map(async (connection) => connection.open?.()));
  }

  onApplicationBootstrap(): void {
    for (const work of this.work()) work.start?.();
  }

  /**
   * Call before the transport closes: a caller that waits for a ledger check would keep it open, and nothing may be reaped when renewals
   * no longer arrive.
   */
  cancel(): void {
    this.withinGrace = beginGrace(this.shutdownGraceMs);
    this.stopped = Promise.all(this.work().map(async (work) => work.stop()));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.withinGrace(Promise.resolve(this.stopped));
    await this.withinGrace(Promise.all(this.connections().map((connection) => connection.close())));
  }

  private connections() {
    return this.features.flatMap(({ connections = [] }) => connections);
  }

  private work() {
    return this.features.flatMap(({ work = [] }) => work);
  }
}
