import { NestFactory } from '@nestjs/core';
import { Registry } from 'prom-client';
import { catalogChanged, routeList } from '#contracts/catalog.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { NatsTransport } from '#messaging/nats-transport.js';
import { RevisionFollower } from '#messaging/revision-follower.js';
import { beginGrace } from '#observability/grace.js';
import { FrameworkLogger, type Logger } from '#observability/logger.js';
import { startOpsServer } from '#observability/ops-server.js';
import type { InferenceProxyConfig } from './inference-proxy.config.js';
import { inferenceProxyModule } from './inference-proxy.module.js';
import { LeaseKeeper } from './leases/lease-keeper.js';
import { LateSettlements } from './leases/settle-for-gateway.js';
import { ProxyMetrics } from './metrics/proxy-metrics.js';
import { UpstreamTests } from './probe/probe-runner.js';
import { RouteTable, type RoutingOptions } from './routing/route-table.js';

/** How long settlements may take once everything that ran has ended: billing may be away. Their leases end what is left. */
const SETTLE_FLUSH_MS = 10_000;

/**
 * Starts the service: every object of it on one screen. It serves as soon as NATS is there and is ready once routes are
 * known. Returns how to stop it: no new requests, running streams finish within the grace, what is owed is settled.
 */
export async function startInferenceProxy(config: InferenceProxyConfig, logger: Logger): Promise<() => Promise<void>> {
  const registry = new Registry();
  const routes = new RouteTable(new ProxyMetrics(registry), routingOptions(config), logger);
  let connected = (): boolean => false;
  const ops = await startOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    registry,
    checks: [
      { name: 'nats', check: () => connected() },
      { name: 'routes', check: () => routes.isKnown },
    ],
  });

  const { natsUrl: url, natsUser: user, natsPassword: password, attemptsMax, failoverMs } = config;
  const messaging = await connectMessaging({ url, user, password, service: 'inference-proxy', logger });
  connected = () => messaging.connected;
  const leases = new LeaseKeeper(messaging, logger, undefined, config.settleAfterAbortMs);
  const settlements = new LateSettlements(messaging, logger, config.settleAfterAbortMs);
  const followed = { endpoint: routeList, changed: catalogChanged, refreshMs: config.catalogRefreshMs, apply: routes.apply.bind(routes) };
  const stopFollowing = new RevisionFollower(messaging, followed, logger).start();
  const transport = new NatsTransport({
    messaging,
    name: 'inference-proxy',
    description: 'Runs requests on upstreams and streams what they say',
    logger,
    shutdownGraceMs: config.shutdownGraceMs,
    largeRequestBytesMax: config.largeRequestBytesMax,
  });
  const dependencies = { routes, leases, settlements, logger, attemptsMax, failoverMs };
  const tests = new UpstreamTests(messaging, logger);
  const app = await NestFactory.createMicroservice(inferenceProxyModule(dependencies, routes, tests), {
    strategy: transport,
    logger: new FrameworkLogger(logger),
  });
  await app.listen();

  return async () => {
    ops.drain();
    await app.close();
    stopFollowing();
    const withinFlush = beginGrace(SETTLE_FLUSH_MS);
    await withinFlush(leases.flush());
    leases.close();
    await withinFlush(settlements.close());
    await messaging.close();
    await routes.close();
    await ops.close();
  };
}

function routingOptions(config: InferenceProxyConfig): RoutingOptions {
  const { routeCooldownMs: cooldownMs, slowStartMs, retryAfterMaxMs, retryPercent, retryBurst, queueMax, queueWaitMs } = config;
  return { cooldownMs, slowStartMs, retryAfterMaxMs, retryPercent, retryBurst, queueMax, queueWaitMs };
}
