import type { PrismaClient } from './prisma-client.js';

/** A readiness check: whether the database answers. The client's own time limits bound it. */
export function postgresReadiness(prisma: PrismaClient): { name: string; check(): Promise<boolean> } {
  return {
    name: 'postgres',
    check: async () => {
      await prisma.$queryRaw`SELECT 1`;
      return true;
    },
  };
}
