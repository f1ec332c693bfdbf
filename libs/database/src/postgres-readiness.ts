import type { PrismaClient } from './prisma-client.js';

/** Returns a readiness check that is true when the database answers within the time limits of the client. */
export function postgresReadiness(prisma: PrismaClient): { name: string; check(): Promise<boolean> } {
  return {
    name: 'postgres',
    check: async () => {
      await prisma.$queryRaw`SELECT 1`;
      return true;
    },
  };
}
