import type { ComparedPlan, PriceComparison } from '#contracts/price-comparison.js';
import { parseListPrices } from '#money/list-prices.js';
import type { Price, PriceStep } from '#money/price.js';
import { planPricing, renderPriceText } from '#money/price-plan.js';

/** A price of a model in a price plan, with the columns of a settlement. */
interface Rate {
  model: string;
  /** Empty: accounts without a plan. */
  price_plan: string;
  side: 'before' | 'after';
  input_price: string;
  cached_input_price: string;
  cache_write_price?: string | undefined;
  cache_write_1h_price?: string | undefined;
  output_price: string;
  request_price?: string | undefined;
  image_price?: string | undefined;
  /** Bounds of the image classes. Absent: there are none. */
  image_bounds?: number[] | undefined;
  price_rules?: object | undefined;
}

/** Rates, and which requests have another cost than their tokens at flat prices and the price of a request. */
export interface Rates {
  rates: Rate[];
  /** Models whose requests cannot be rated by their sums alone. */
  ruledModels: string[];
  /** Sizes of a prompt above which a step applies, ascending. */
  bounds: number[];
  /** Bounds of the steps for the excess of a prompt, ascending. */
  excessBounds: number[];
  haveTiers: boolean;
  haveRequestPrices: boolean;
  haveImagePrices: boolean;
}

/** Returns the rates of each model for accounts with each of `plans`. A plan that a catalog does not have means its list prices. */
export function listRates({ models, plansBefore, plansAfter }: PriceComparison, plans: readonly string[]): Rates {
  const priced = plans.flatMap((plan) => {
    const [before, after] = [pricing(plansBefore, plan), pricing(plansAfter, plan)];
    return models.flatMap((model) => [
      { model: model.id, plan, side: 'before' as const, price: before(model.id, parseListPrices(model.before)) },
      { model: model.id, plan, side: 'after' as const, price: after(model.id, parseListPrices(model.after)) },
    ]);
  });
  const prices = priced.map(({ price }) => price);
  const steps = prices.flatMap((price) => [price, ...(price.tiers ?? [])].flatMap(({ steps = [] }) => steps));
  return {
    rates: priced.map(({ model, plan, side, price }) => ({ model, price_plan: plan, side, ...columns(price) })),
    ruledModels: [...new Set(priced.filter(({ price }) => !isFlat(price)).map(({ model }) => model))],
    bounds: listBounds(steps),
    excessBounds: listBounds(steps.filter(({ reprices }) => reprices === 'excess')),
    haveTiers: prices.some(({ tiers }) => tiers !== undefined),
    haveRequestPrices: prices.some(({ requestPicoUsd }) => requestPicoUsd !== undefined),
    haveImagePrices: prices.some(hasImagePrices),
  };
}

function listBounds(steps: readonly PriceStep[]): number[] {
  return [...new Set(steps.map(({ above }) => above))].sort((one, other) => one - other);
}

function pricing(plans: readonly ComparedPlan[], id: string): (model: string, list: Price) => Price {
  const plan = plans.find((one) => one.id === id);
  if (!plan) return (_, list) => list;
  const models = plan.models.map((model) => ({ id: model.id, price: renderPriceText(parseListPrices(model.price)) }));
  return planPricing({ ...plan, models });
}

function columns(price: Price): Omit<Rate, 'model' | 'price_plan' | 'side'> {
  const { steps, tiers, imageSteps, ...amounts } = renderPriceText(price);
  return {
    input_price: amounts.inputPicoUsd,
    cached_input_price: amounts.cachedInputPicoUsd,
    cache_write_price: amounts.cacheWritePicoUsd,
    cache_write_1h_price: amounts.cacheWrite1hPicoUsd,
    output_price: amounts.outputPicoUsd,
    request_price: amounts.requestPicoUsd,
    image_price: amounts.imagePicoUsd,
    image_bounds: imageSteps?.map(({ aboveBytes }) => aboveBytes),
    price_rules: steps || tiers || imageSteps ? { steps, tiers, imageSteps } : undefined,
  };
}

/** True for a price whose sums tell the cost. That of a request counts requests that are billed, which the sums do not tell apart. */
function isFlat(price: Price): boolean {
  return !price.steps && !price.tiers && price.requestPicoUsd === undefined && !hasImagePrices(price);
}

function hasImagePrices({ imagePicoUsd, imageSteps }: Price): boolean {
  return imagePicoUsd !== undefined || imageSteps !== undefined;
}
