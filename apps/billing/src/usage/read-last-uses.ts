import type { PrismaClient } from '#database/prisma-client.js';
import { inUsageSnapshot } from './usage-snapshot.js';

/** Returns the end of the newest request of each key. Keys without one are absent. */
export async function readLastUses(prisma: PrismaClient, keyIds: readonly string[]): Promise<Map<string, Date>> {
  if (keyIds.length === 0) return new Map();
  const rows = await inUsageSnapshot(
    prisma,
    (snapshot, { closedTo }) => snapshot.$queryRaw<{ keyId: string; at: Date }[]>`
      SELECT key_id::text AS "keyId", max(at) AS at FROM (
        SELECT d.key_id, d.last_at AS at FROM unnest(${keyIds}::uuid[]) AS k (id) JOIN billing.usage_day d
          ON d.key_id = k.id AND d.day = (SELECT max(day) FROM billing.usage_day WHERE key_id = k.id)
        UNION ALL
        SELECT key_id, settled_at FROM billing.settlement WHERE transaction_id >= ${closedTo} AND key_id = ANY (${keyIds}::uuid[])
      ) used GROUP BY key_id`,
  );
  return new Map(rows.map(({ keyId, at }) => [keyId, at]));
}
