import type { ComparedPlan, PriceComparison } from '#contracts/price-comparison.js';
import { parseListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import { planPricing, renderPriceText } from '#money/price-plan.js';
import { makeRates, type Rates } from './rates.js';

/** The model, the plan and the catalog of a price. */
interface Compared {
  model: string;
  /** Empty: accounts without a plan. */
  price_plan: string;
  side: 'before' | 'after';
}

/** Returns the rates of each model for accounts with each of `plans`. A plan that a catalog does not have means its list prices. */
export function listRates({ models, plansBefore, plansAfter }: PriceComparison, plans: readonly string[]): Rates<Compared> {
  return makeRates(
    plans.flatMap((plan) => {
      const [before, after] = [pricing(plansBefore, plan), pricing(plansAfter, plan)];
      return models.flatMap(({ id: model, ...lists }) => [
        { model, price_plan: plan, side: 'before' as const, price: before(model, parseListPrices(lists.before)) },
        { model, price_plan: plan, side: 'after' as const, price: after(model, parseListPrices(lists.after)) },
      ]);
    }),
  );
}

function pricing(plans: readonly ComparedPlan[], id: string): (model: string, list: Price) => Price {
  const plan = plans.find((one) => one.id === id);
  if (!plan) return (_, list) => list;
  const models = plan.models.map((model) => ({ id: model.id, price: renderPriceText(parseListPrices(model.price)) }));
  return planPricing({ ...plan, models });
}
