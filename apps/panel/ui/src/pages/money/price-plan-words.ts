import type { Account } from '../../../../src/shapes/billing.js';
import type { PricePlan } from '../../../../src/shapes/catalog.js';

const LIST_PRICES = 'list prices';

/** The price plan in force at a time in milliseconds, and the one that replaces it later. Null: none does. */
export function splitPricePlan(
  { pricePlan = null, nextPricePlan = null }: Partial<Pick<Account, 'pricePlan' | 'nextPricePlan'>>,
  at: number,
): { now: string; next: { plan: string; from: string } | null } {
  if (nextPricePlan === null) return { now: pricePlan ?? LIST_PRICES, next: null };
  const next = { plan: nextPricePlan.pricePlan ?? LIST_PRICES, from: nextPricePlan.from };
  return Date.parse(next.from) <= at ? { now: next.plan, next: null } : { now: pricePlan ?? LIST_PRICES, next };
}

/**
 * The choices of a price plan: list prices, those of the catalog, and a plan that the account has and the catalog lacks.
 * The empty text is list prices.
 */
export function listPlanChoices(plans: readonly PricePlan[], own: string | null | undefined): [id: string, text: string][] {
  const isLacking = own && !plans.some(({ id }) => id === own);
  return [
    ['', 'List prices'],
    ...plans.map(({ id, discountPercent, models }): [string, string] => [id, `${id}: ${describePlan(discountPercent, models.length)}`]),
    ...(isLacking ? [[own, `${own}: not in the catalog, so list prices`] as [string, string]] : []),
  ];
}

function describePlan(discountPercent: string, models: number): string {
  const own = models > 0 ? [`own prices of ${models} model${models === 1 ? '' : 's'}`] : [];
  return [...(Number(discountPercent) > 0 ? [`${discountPercent} % off`] : []), ...own].join(', ') || LIST_PRICES;
}
