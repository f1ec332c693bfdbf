import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';

type WatchedPool = Pick<pg.Pool, 'totalCount' | 'idleCount' | 'waitingCount' | 'options'>;

/** Pools by name, of each registry. */
const watched = new WeakMap<Registry, Map<string, WatchedPool>>();

/** Registers how much of a pool is in use, under the label `pool`. */
export function watchPool(pool: WatchedPool, registry: Registry, name = 'common'): void {
  const pools = watched.get(registry) ?? registerGauges(registry);
  pools.set(name, pool);
}

function registerGauges(registry: Registry): Map<string, WatchedPool> {
  const pools = new Map<string, WatchedPool>();
  watched.set(registry, pools);
  const gauge = (name: string, help: string, read: (pool: WatchedPool) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['pool'],
      registers: [registry],
      collect() {
        for (const [pool, counts] of pools) this.set({ pool }, read(counts));
      },
    });
  };
  gauge('tollgate_postgres_pool_connections', 'Connections of the pool in use', (pool) => pool.totalCount - pool.idleCount);
  gauge('tollgate_postgres_pool_connections_max', 'Connections that the pool may have', (pool) => pool.options.max);
  gauge('tollgate_postgres_pool_waiting', 'Queries that wait for a connection of the pool', (pool) => pool.waitingCount);
  return pools;
}
