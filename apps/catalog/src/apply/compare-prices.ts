import { isDeepStrictEqual } from 'node:util';
import type { ComparedPlan, PriceComparison } from '#contracts/price-comparison.js';
import { renderListPrices } from '#money/list-prices.js';
import { parsePrice } from '#money/price-plan.js';
import type { WantedCatalog, WantedPricePlan } from '../file/parse-catalog-file.js';
import type { CatalogEntries } from './catalog-state.js';

/** Returns the prices of the models that both catalogs offer: all if a price plan differs, else those that differ. Undefined: none does. */
export function comparePrices(current: CatalogEntries, wanted: WantedCatalog): PriceComparison | undefined {
  const [plansBefore, plansAfter] = [renderPlans(current.pricePlans), renderPlans(wanted.pricePlans)];
  const samePlans = isDeepStrictEqual(plansBefore, plansAfter);
  const stored = new Map(current.models.filter(({ enabled }) => enabled).map(({ id, price: { version: _, ...price } }) => [id, price]));
  const models = wanted.models.flatMap(({ id, enabled, price }) => {
    const before = stored.get(id);
    if (!before || !enabled || (samePlans && isDeepStrictEqual(before, price))) return [];
    return [{ id, before: renderListPrices(before), after: renderListPrices(price) }];
  });
  return models.length > 0 ? { models, plansBefore, plansAfter } : undefined;
}

function renderPlans(plans: readonly WantedPricePlan[]): ComparedPlan[] {
  const offered = plans.filter(({ enabled }) => enabled).sort((one, other) => (one.id < other.id ? -1 : 1));
  return offered.map(({ id, discountPercent, models }) => ({
    id,
    discountPercent,
    models: models.map((model) => ({ id: model.id, price: renderListPrices(parsePrice(model.price)) })),
  }));
}
