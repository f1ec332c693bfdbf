import { type DynamicModule, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { Registry } from 'prom-client';
import { catalogChanged, routeList } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { RevisionFollower } from '#messaging/revision-follower.js';
import { beginGrace } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import type { Tracer } from '#tracing/tracer.js';
import type { InferenceProxyConfig } from './inference-proxy.config.js';
import { INFERENCE_DEPENDENCIES, InferenceProxyController } from './inference-proxy.controller.js';
import { LeaseKeeper } from './leases/lease-keeper.js';
import { SettleForGateway } from './leases/settle-for-gateway.js';
import { ProxyMetrics } from './metrics/proxy-metrics.js';
import { ProbeRunner } from './probe/probe-runner.js';
import { ProxyReplicas } from './routing/proxy-replicas.js';
import { RouteTable, type RoutingOptions } from './routing/route-table.js';

/** Milliseconds that settlements may take at shutdown. Billing may be away; the reaper settles what is left. */
const SETTLE_FLUSH_MS = 10_000;

interface InferenceProxyDependencies {
  config: InferenceProxyConfig;
  logger: Logger;
  registry: Registry;
  messaging: Messaging;
  /** Absent while traces are not exported. */
  tracer?: Tracer | undefined;
}

@Module({})
class InferenceProxyModule {}

/** The composition root: every object of the service with its dependencies. `BackgroundWork` stops them. */
export function inferenceProxyModule({ config, logger, registry, messaging, tracer }: InferenceProxyDependencies): DynamicModule {
  const { attemptsMax, failoverMs, settleAfterAbortMs, catalogRefreshMs: refreshMs } = config;
  const tracedUpstreams = new Set(config.tracedUpstreams.split(',').map((id) => id.trim()));
  const routes = new RouteTable(new ProxyMetrics(registry), routingOptions(config), logger);
  const leases = new LeaseKeeper(messaging, logger, undefined, settleAfterAbortMs);
  const settlements = new SettleForGateway(messaging, logger, settleAfterAbortMs);
  const followed = { endpoint: routeList, changed: catalogChanged, refreshMs, apply: routes.apply.bind(routes) };
  const follow = (): (() => void) => new RevisionFollower(messaging, followed, logger).start();
  return {
    module: InferenceProxyModule,
    controllers: [InferenceProxyController],
    providers: [
      {
        provide: INFERENCE_DEPENDENCIES,
        useValue: { routes, leases, settlements, logger, tracer, tracedUpstreams, attemptsMax, failoverMs },
      },
      { provide: RouteTable, useValue: routes },
      { provide: ProbeRunner, useValue: new ProbeRunner(messaging, logger) },
      { provide: BackgroundWork, useValue: new BackgroundWork(follow, new ProxyReplicas(messaging, routes), routes, leases, settlements) },
    ],
  };
}

function routingOptions(config: InferenceProxyConfig): RoutingOptions {
  const { routeCooldownMs: cooldownMs, slowStartMs, retryAfterMaxMs, retryPercent, retryBurst, queueMax, queueWaitMs } = config;
  return { cooldownMs, slowStartMs, retryAfterMaxMs, retryPercent, retryBurst, queueMax, queueWaitMs };
}

/** Work beside the requests. Nest calls the hook when its transport has closed and every stream has ended. */
export class BackgroundWork implements OnApplicationShutdown {
  private stopFollowing = (): void => {};

  constructor(
    private readonly followCatalog: () => () => void,
    private readonly replicas: ProxyReplicas,
    private readonly routes: RouteTable,
    private readonly leases: LeaseKeeper,
    private readonly settlements: SettleForGateway,
  ) {}

  /** Call before the service takes requests, which need the routes. */
  start(): void {
    this.replicas.start();
    this.stopFollowing = this.followCatalog();
  }

  /** Settles what gateways have left unsettled, then closes the sockets to the upstreams. */
  async onApplicationShutdown(): Promise<void> {
    this.replicas.stop();
    this.stopFollowing();
    const withinFlush = beginGrace(SETTLE_FLUSH_MS);
    await withinFlush(this.leases.flush());
    this.leases.close();
    await withinFlush(this.settlements.close());
    await this.routes.close();
  }
}
