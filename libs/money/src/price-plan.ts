import { mapPrice, withoutFreeUnits } from './map-price.js';
import type { Price } from './price.js';

/** Pico-USD per token, request and image as integer strings, as they are sent. */
export type PriceText = Price<string>;

export interface PlanPrices {
  /** Taken off each list price. */
  discountPercent: string;
  /** Prices of single models, instead of the discount. */
  models: readonly { id: string; price: PriceText }[];
}

/** Ignores the other fields of a pinned price. */
export function parsePrice(price: PriceText): Price {
  return mapPrice(price, { perToken: BigInt, each: BigInt });
}

export function renderPriceText(price: Price): PriceText {
  return mapPrice(price, { perToken: String, each: String });
}

/** Returns the function from a model and its list price to its price in the plan. */
export function planPricing({ discountPercent, models }: PlanPrices): (modelId: string, list: Price) => Price {
  const own = new Map(models.map(({ id, price }) => [id, parsePrice(price)]));
  const paid = ALL - parsePercent(discountPercent);
  return (modelId, list) => own.get(modelId) ?? share(list, paid);
}

const PERCENT = /^(\d{1,3})(?:\.(\d{1,2}))?$/;
/** 100 % in hundredths of a percent. */
const ALL = 10_000n;

/** Parses `"12.5"` to hundredths of a percent. Throws `RangeError` below 0, above 100 and on more than two decimals. */
export function parsePercent(text: string): bigint {
  const [, whole, decimals = ''] = PERCENT.exec(text) ?? [];
  const hundredths = whole === undefined ? -1n : BigInt(whole + decimals.padEnd(2, '0'));
  if (hundredths < 0n || hundredths > ALL) throw new RangeError(`not a percentage from 0 to 100 such as "12.5": ${JSON.stringify(text)}`);
  return hundredths;
}

/**
 * Returns a part of the price in hundredths of a percent, each component rounded half up to a whole pico-USD. That of a request or an image
 * that becomes zero is none.
 */
function share(price: Price, part: bigint): Price {
  const rounded = (amount: bigint): bigint => (amount * part + ALL / 2n) / ALL;
  return withoutFreeUnits(mapPrice(price, { perToken: rounded, each: rounded }));
}
