import type { PinnedPrice } from '#contracts/billing/holds.js';

/** The part of a pinned price that has no columns of its own, as `price_rules` keeps it. */
export type PriceRules = Pick<PinnedPrice, 'steps' | 'tiers' | 'imageSteps'>;

/** Returns that part. Null: the price has none. */
export function pickRules({ steps, tiers, imageSteps }: PinnedPrice): PriceRules | null {
  if (steps === undefined && tiers === undefined && imageSteps === undefined) return null;
  return { ...(steps && { steps }), ...(tiers && { tiers }), ...(imageSteps && { imageSteps }) };
}
