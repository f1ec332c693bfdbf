import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Registry } from 'prom-client';
import { CONNECT_TIMEOUT_MS, type DatabaseOptions, STATEMENT_TIMEOUT_MS, sessionOptions } from './database-options.js';
import { PrismaClient } from './generated/client.js';
import { watchPool } from './pool-metrics.js';
import { PrimaryClient } from './primary-client.js';

export type { PrismaClient } from './generated/client.js';
export { Prisma } from './generated/client.js';

interface PoolOptions extends DatabaseOptions {
  /** Default 5. */
  connectionsMax?: number;
  /** Name of the pool in the metrics, where a service has several. Default: `common`. */
  pool?: string;
  registry?: Registry;
  /** Parameters of each session, such as `{ jit: 'off' }`. */
  settings?: Record<string, string>;
}

/**
 * Creates a Prisma client over a pool of `pg` connections to the primary, for everything off the hot path. It connects on first use and reconnects by
 * itself.
 *
 * Money columns arrive as `Prisma.Decimal`, which rounds results to 20 digits: read them as `::text`, or convert with
 * `BigInt(decimal.toFixed(0))` first.
 */
export function createPrismaClient(options: PoolOptions): PrismaClient {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const pool = new pg.Pool({
    connectionString: options.url,
    Client: PrimaryClient,
    verify: (client, done) => {
      (client as PrimaryClient & typeof client).accept().then(() => done(), done);
    },
    application_name: options.applicationName,
    statement_timeout: statementTimeoutMs,
    // An unreachable server cannot enforce its own limit.
    query_timeout: statementTimeoutMs + 1_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    max: options.connectionsMax ?? 5,
    keepAlive: true,
    options: sessionOptions(options.settings),
  });
  if (options.registry) watchPool(pool, options.registry, options.pool);
  return new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: true }) });
}
