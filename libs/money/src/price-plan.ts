import type { Price } from './price.js';

/** Pico-USD per token, request and image as integer strings, as they are sent. */
export interface PriceText {
  inputPicoUsd: string;
  cachedInputPicoUsd: string;
  cacheWritePicoUsd?: string;
  cacheWrite1hPicoUsd?: string;
  outputPicoUsd: string;
  requestPicoUsd?: string;
  imagePicoUsd?: string;
}

export interface PlanPrices {
  /** Taken off each list price. */
  discountPercent: string;
  /** Prices of single models, instead of the discount. */
  models: readonly { id: string; price: PriceText }[];
}

export function parsePrice(price: PriceText & { images?: number }): Price {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd, outputPicoUsd } = price;
  const { requestPicoUsd, imagePicoUsd, images } = price;
  return {
    inputPicoUsd: BigInt(inputPicoUsd),
    cachedInputPicoUsd: BigInt(cachedInputPicoUsd),
    ...(cacheWritePicoUsd !== undefined && { cacheWritePicoUsd: BigInt(cacheWritePicoUsd) }),
    ...(cacheWrite1hPicoUsd !== undefined && { cacheWrite1hPicoUsd: BigInt(cacheWrite1hPicoUsd) }),
    outputPicoUsd: BigInt(outputPicoUsd),
    ...(requestPicoUsd !== undefined && { requestPicoUsd: BigInt(requestPicoUsd) }),
    ...(imagePicoUsd !== undefined && { imagePicoUsd: BigInt(imagePicoUsd) }),
    ...(images !== undefined && { images }),
  };
}

export function renderPriceText(price: Price): PriceText {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd, outputPicoUsd, requestPicoUsd, imagePicoUsd } = price;
  return {
    inputPicoUsd: `${inputPicoUsd}`,
    cachedInputPicoUsd: `${cachedInputPicoUsd}`,
    ...(cacheWritePicoUsd !== undefined && { cacheWritePicoUsd: `${cacheWritePicoUsd}` }),
    ...(cacheWrite1hPicoUsd !== undefined && { cacheWrite1hPicoUsd: `${cacheWrite1hPicoUsd}` }),
    outputPicoUsd: `${outputPicoUsd}`,
    ...(requestPicoUsd !== undefined && { requestPicoUsd: `${requestPicoUsd}` }),
    ...(imagePicoUsd !== undefined && { imagePicoUsd: `${imagePicoUsd}` }),
  };
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
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd, outputPicoUsd, requestPicoUsd, imagePicoUsd } = price;
  const rounded = (price: bigint): bigint => (price * part + ALL / 2n) / ALL;
  const request = rounded(requestPicoUsd ?? 0n);
  const image = rounded(imagePicoUsd ?? 0n);
  return {
    inputPicoUsd: rounded(inputPicoUsd),
    cachedInputPicoUsd: rounded(cachedInputPicoUsd),
    ...(cacheWritePicoUsd !== undefined && { cacheWritePicoUsd: rounded(cacheWritePicoUsd) }),
    ...(cacheWrite1hPicoUsd !== undefined && { cacheWrite1hPicoUsd: rounded(cacheWrite1hPicoUsd) }),
    outputPicoUsd: rounded(outputPicoUsd),
    ...(request > 0n && { requestPicoUsd: request }),
    ...(image > 0n && { imagePicoUsd: image }),
  };
}
