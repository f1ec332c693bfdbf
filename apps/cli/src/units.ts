import { modelList } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';

/** Reads the unit of each item of a service. What cannot be read is left out, because a count is of use without its unit. */
export async function readUnits(messaging: Messaging): Promise<ReadonlyMap<string, string>> {
  const { services = [] } = await messaging.request(modelList, {}).catch(() => ({ services: [] }));
  return new Map(services.flatMap(({ items }) => items.map(({ id, unit }) => [id, unit] as const)));
}

/** Renders `7 × page`, or the count alone where the unit is not known. */
export function renderUnits(quantity: number, unit: string | undefined): string {
  return unit === undefined || quantity === 0 ? `${quantity}` : `${quantity} × ${unit}`;
}
