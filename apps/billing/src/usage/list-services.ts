import type { ServiceListReply } from '#contracts/billing/services.js';
import type { PrismaClient } from '#database/prisma-client.js';

const DAY_MS = 86_400_000;

/** Lists what each service uses of its ceilings. What was spent before the present day (UTC) does not count. */
export async function listServices(prisma: PrismaClient, now = Date.now()): Promise<ServiceListReply> {
  const rows = await prisma.serviceUse.findMany({ orderBy: { service: 'asc' } });
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const services = rows.map(({ service, day, spent, held, openHolds }) => ({
    service,
    day: new Date(Math.max(today, day.getTime())).toISOString(),
    spentPicoUsd: day.getTime() < today ? '0' : spent.toFixed(0),
    heldPicoUsd: held.toFixed(0),
    openHolds,
  }));
  return { services };
}
