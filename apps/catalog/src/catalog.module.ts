import { type DynamicModule, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Registry } from 'prom-client';
import { readSecret } from '#config/load-config.js';
import { catalogChanged } from '#contracts/catalog.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { Messaging } from '#messaging/messaging.js';
import { beginGrace } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import { Announcements } from './announcements.js';
import { Applier } from './apply/applier.js';
import { CatalogStore } from './apply/catalog-store.js';
import { AuditController, PRISMA } from './audit.controller.js';
import type { CatalogConfig } from './catalog.config.js';
import { CatalogController } from './catalog.controller.js';
import { createCatalogMetrics } from './catalog.metrics.js';
import { Editing } from './editing.js';
import { PriceTimer } from './prices/price-timer.js';
import { RouteCosts } from './prices/route-costs.js';
import { ScheduledPrices } from './prices/scheduled-prices.js';
import { ShownPrices } from './prices/shown-prices.js';
import { PricesController } from './prices.controller.js';
import { Revisions } from './revisions/revisions.js';
import { RevisionsController } from './revisions.controller.js';
import { Snapshot } from './snapshot.js';
import { applyStartFile, type StartFile } from './start-file.js';
import { UpstreamTests } from './upstream-tests.js';

interface CatalogDependencies {
  config: CatalogConfig;
  logger: Logger;
  registry: Registry;
  prisma: PrismaClient;
  messaging: Messaging;
  file: StartFile | undefined;
}

@Module({ controllers: [CatalogController, RevisionsController, PricesController, AuditController] })
class CatalogModule {}

/** The composition root: every object of the service with its dependencies. `BackgroundWork` starts and stops them. */
export function catalogModule(dependencies: CatalogDependencies): DynamicModule {
  const { config, logger, registry, prisma, messaging } = dependencies;
  const metrics = createCatalogMetrics(registry);
  const store = new CatalogStore(prisma);
  const announcements = new Announcements(messaging);
  const snapshot = new Snapshot(store, announcements, logger, metrics);
  const applier = new Applier(store, snapshot, announcements, readSecret, metrics, logger);
  const prices = new ScheduledPrices(prisma, logger);
  const timer = new PriceTimer(applier, prices, config.catalogRefreshMs, logger);
  return {
    module: CatalogModule,
    providers: [
      { provide: PRISMA, useValue: prisma },
      { provide: Announcements, useValue: announcements },
      { provide: Snapshot, useValue: snapshot },
      { provide: Applier, useValue: applier },
      { provide: CatalogStore, useValue: store },
      { provide: Editing, useValue: new Editing(config, store) },
      { provide: UpstreamTests, useValue: new UpstreamTests(prisma, logger) },
      { provide: Revisions, useValue: new Revisions(prisma) },
      { provide: ScheduledPrices, useValue: prices },
      { provide: ShownPrices, useValue: new ShownPrices(prisma, store) },
      { provide: RouteCosts, useValue: new RouteCosts(prisma) },
      { provide: PriceTimer, useValue: timer },
      { provide: BackgroundWork, useValue: new BackgroundWork(dependencies, announcements, snapshot, applier, timer) },
    ],
  };
}

/** Work beside the requests. Nest calls the hooks, the last one when its transport has closed. */
export class BackgroundWork implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly stopping = new AbortController();
  private withinGrace = beginGrace(0);
  private unsubscribe: (() => void) | undefined;
  private applying: Promise<void> | undefined;
  private isApplied = false;

  constructor(
    private readonly dependencies: CatalogDependencies,
    private readonly announcements: Announcements,
    private readonly snapshot: Snapshot,
    private readonly applier: Applier,
    private readonly timer: PriceTimer,
  ) {}

  /** True when the file is applied and read back: a gateway that asked earlier would remember an empty catalog. */
  get isReady(): boolean {
    return this.isApplied && this.snapshot.exists;
  }

  onApplicationBootstrap(): void {
    const { config, logger, messaging, file } = this.dependencies;
    this.unsubscribe = messaging.subscribe(catalogChanged, ({ revision }) => {
      this.announcements.heard(revision);
      void this.snapshot.refresh();
    });
    messaging.onReconnect(() => {
      this.announcements.forget();
      void this.snapshot.refresh();
    });
    this.snapshot.startInterval(config.catalogRefreshMs);
    this.applying = applyStartFile(file, this.applier, logger, this.stopping.signal).then((applied) => {
      this.isApplied = applied;
      if (!file) void this.snapshot.refresh(); // an apply has read it
      this.timer.wake();
    });
  }

  /** Call before the transport closes. */
  cancel(): void {
    this.stopping.abort();
    this.withinGrace = beginGrace(this.dependencies.config.shutdownGraceMs);
  }

  async onApplicationShutdown(): Promise<void> {
    this.unsubscribe?.();
    await this.withinGrace(Promise.all([this.applying, this.timer.stop(), this.snapshot.stop()]));
  }
}
