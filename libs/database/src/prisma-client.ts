import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Registry } from 'prom-client';
import { CONNECT_TIMEOUT_MS, type DatabaseOptions, STATEMENT_TIMEOUT_MS } from './database-options.js';
import { PrismaClient } from './generated/client.js';
import { watchPool } from './pool-metrics.js';
import { PrimaryClient } from './primary-client.js';

export type { PrismaClient } from './generated/client.js';
export { Prisma } from './generated/client.js';

/**
 * Creates a Prisma client over a pool of `pg` connections to the primary, for everything off the hot path. It connects on first use and reconnects by
 * itself.
 *
 * Money columns arrive as `Prisma.Decimal`, which rounds results to 20 digits: read them as `::text`, or convert with
 * `BigInt(decimal.toFixed(0))` first.
 */
export function createPrismaClient(options: DatabaseOptions & { connectionsMax?: number; registry?: Registry }): PrismaClient {
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
  });
  if (options.registry) watchPool(pool, options.registry);
  return new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: true }) });
}
