import { Registry } from 'prom-client';
import { createLogger, type Logger } from '#observability/logger.js';
import { ProxyMetrics } from '../proxy-metrics.js';
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

/** An empty book without chance: of several routes the first other one is always the second look. */
export function testBook(
  terms: Partial<RoutingTerms> = {},
  registry = new Registry(),
  logger: Logger = createLogger('test', 'silent'),
): RouteBook {
  return new RouteBook(new ProxyMetrics(registry), { ...TEST_ROUTING_TERMS, ...terms }, logger, () => 0);
}
