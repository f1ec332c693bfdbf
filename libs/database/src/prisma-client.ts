import { PrismaPg } from '@prisma/adapter-pg';
import { CONNECT_TIMEOUT_MS, type DatabaseOptions, STATEMENT_TIMEOUT_MS } from './database-options.js';
import { PrismaClient } from './generated/client.js';

export type { PrismaClient } from './generated/client.js';
export { Prisma } from './generated/client.js';

/**
 * Creates a Prisma client over a pool of `pg` connections, for everything off the hot path. It connects on first use and reconnects by
 * itself.
 *
 * Money columns arrive as `Prisma.Decimal`, which rounds results to 20 digits: read them as `::text`, or convert with
 * `BigInt(decimal.toFixed(0))` first.
 */
export function createPrismaClient(options: DatabaseOptions & { connectionsMax?: number }): PrismaClient {
  const adapter = new PrismaPg({
    connectionString: options.url,
    application_name: options.applicationName,
    statement_timeout: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    max: options.connectionsMax ?? 5,
    keepAlive: true,
  });
  return new PrismaClient({ adapter });
}
