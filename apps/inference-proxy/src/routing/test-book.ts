import { Registry } from 'prom-client';
import type { Upstream } from '#contracts/catalog.js';
import { createLogger, type Logger } from '#observability/logger.js';
import { CAPABILITIES } from '../../test/conformance.js';
import { ProxyMetrics } from '../metrics/proxy-metrics.js';
import { RouteBook, type RoutingTerms } from './route-book.js';

/** Nobody waits in line, and a route that has failed may be called again at once, unless its upstream said otherwise. */
export const TEST_ROUTING_TERMS: RoutingTerms = {
  restMs: 0,
  restMsMax: 0,
  waitMsMax: 60_000,
  retryPercent: 20,
  retryBurst: 100,
  queueMax: 0,
  queueWaitMs: 0,
};

/** An upstream that is only named: no test of routing calls it. It has one socket, unless told otherwise. */
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

/** An empty book without chance: of several routes the first other one is always the second look. */
export function testBook(
  terms: Partial<RoutingTerms> = {},
  registry = new Registry(),
  logger: Logger = createLogger('test', 'silent'),
): RouteBook {
  return new RouteBook(new ProxyMetrics(registry), { ...TEST_ROUTING_TERMS, ...terms }, logger, () => 0);
}
