import type { Price, PriceStep } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';

/** A price with the columns of a settlement, as JSON. */
interface PriceColumns {
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

/** Says which requests have another cost than their tokens at flat prices and the price of a request. */
export interface RateRules {
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

/** Prices with what they are for, such as a model. */
export interface Rates<For> extends RateRules {
  rates: (For & PriceColumns)[];
}

export function makeRates<For extends { model: string }>(priced: readonly (For & { price: Price })[]): Rates<For> {
  const prices = priced.map(({ price }) => price);
  const steps = prices.flatMap((price) => [price, ...(price.tiers ?? [])].flatMap(({ steps = [] }) => steps));
  return {
    rates: priced.map(({ price, ...from }) => ({ ...(from as unknown as For), ...toColumns(price) })),
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

function toColumns(price: Price): PriceColumns {
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
