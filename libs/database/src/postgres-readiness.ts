import { dropReadOnlyServer, findServerFaults } from './primary-client.js';
import type { PrismaClient } from './prisma-client.js';

/**
 * Returns a readiness check that is true when the database of `url` answers within the time limits of the client and takes writes. `detail`
 * has the reason of each server.
 */
export function postgresReadiness(
  prisma: PrismaClient,
  url: string,
): { name: string; check(): Promise<boolean>; detail(): string | undefined } {
  let passed = false;
  const read = async (): Promise<boolean> => {
    const [session] = await prisma.$queryRaw<{ readOnly: boolean }[]>`
      SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`;
    if (session?.readOnly) dropReadOnlyServer(url);
    return session?.readOnly === false;
  };
  return {
    name: 'postgres',
    check: async () => {
      passed = await read().catch(() => false);
      return passed;
    },
    detail: () => (passed ? undefined : findServerFaults(url)),
  };
}
