import type pg from 'pg';
import type { Registry } from 'prom-client';
import { registerScrapedGauge } from '#observability/scraped-gauge.js';

/** Registers how much of a pool is in use. */
export function watchPool(pool: Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>, registry: Registry): void {
  const gauge = registerScrapedGauge.bind(undefined, registry);
  gauge('tollgate_postgres_pool_connections', 'Connections of the pool in use', () => pool.totalCount - pool.idleCount);
  gauge('tollgate_postgres_pool_connections_max', 'Connections that the pool may have', () => pool.options.max);
  gauge('tollgate_postgres_pool_waiting', 'Queries that wait for a connection of the pool', () => pool.waitingCount);
}
