import type { Price } from '#money/price.js';
import { toPrice } from './price-columns.js';
import type { Database } from './write-changes.js';

/** A scheduled price whose time has come. */
export interface DuePrice {
  id: string;
  modelId: string;
  price: Price;
  reason: string | null;
}

/** Returns the price that is due longest by the clock of the database. To apply it, call this under the lock of `lockState`. */
export async function duePrice(tx: Database): Promise<DuePrice | undefined> {
  const rows = await tx.$queryRaw<{ id: string }[]>`SELECT id::text FROM catalog.scheduled_price
    WHERE revision IS NULL AND cancelled_at IS NULL AND effective_at <= clock_timestamp() ORDER BY effective_at, id LIMIT 1`;
  if (rows[0] === undefined) return undefined;
  const { id, modelId, reason, ...row } = await tx.scheduledPrice.findUniqueOrThrow({ where: { id: rows[0].id } });
  return { id, modelId, price: toPrice(row), reason };
}
