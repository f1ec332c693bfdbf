import { Registry } from 'prom-client';
import type { Upstream } from '#contracts/catalog.js';
import { createLogger, type Logger } from '#observability/logger.js';
import { ProxyMetrics } from '../src/metrics/proxy-metrics.js';
import { RouteTable, type RoutingOptions } from '../src/routing/route-table.js';
import { CAPABILITIES } from './conformance.js';

/** No queue and no cooldown: a failed route may be called again at once, unless its upstream sent `Retry-After`. */
const TEST_ROUTING_OPTIONS: RoutingOptions = {
  cooldownMs: 0,
  slowStartMs: 10_000,
  retryAfterMaxMs: 60_000,
  retryPercent: 20,
  retryBurst: 100,
  queueMax: 0,
  queueWaitMs: 0,
};

/** An upstream that no test calls, with one socket by default. */
export function upstreamNamed(id: string, over: Partial<Upstream> = {}): Upstream {
  return {
    id,
    kind: 'openai-chat',
    baseUrl: `http://${id}.example/v1`,
    apiKeyEnv: null,
    allowPrivateNetwork: false,
    capabilities: CAPABILITIES,
    timeouts: { connectMs: 1, firstByteMs: 1, idleMs: 1, totalMs: 1 },
    connectionsMax: 1,
    ...over,
  };
}

/** An empty table without chance: of several routes the first other one is always the second look. */
export function testTable(
  terms: Partial<RoutingOptions> = {},
  registry = new Registry(),
  logger: Logger = createLogger('test', 'silent'),
): RouteTable {
  return new RouteTable(new ProxyMetrics(registry), { ...TEST_ROUTING_OPTIONS, ...terms }, logger, () => 0);
}
