import { type PicoUsd, parseUsd, picoUsd } from './pico-usd.js';

/**
 * Integers of pico-USD a token, a request and an image. A list price of at most six decimals per million tokens is exact: $0.15/M is
 * 150,000. So a cost is a sum of products and never rounded.
 */
export interface Price {
  inputPicoUsd: bigint;
  cachedInputPicoUsd: bigint;
  /** Price of a prompt token that the upstream writes to its cache for 5 minutes. Absent: the input price. */
  cacheWritePicoUsd?: bigint;
  /** As `cacheWritePicoUsd`, for an hour. Absent: `cacheWritePicoUsd`. */
  cacheWrite1hPicoUsd?: bigint;
  outputPicoUsd: bigint;
  /** Price of each billed request, besides its tokens. Absent: 0. */
  requestPicoUsd?: bigint;
  /** Price of each image of a billed prompt, besides its tokens. Absent: 0. */
  imagePicoUsd?: bigint;
  /** Images of the request that pays the price. Absent: none. */
  images?: number;
}

/** The largest possible hold, $1M. */
export const HOLD_MAX = picoUsd(10n ** 18n);

/** Most digits of a list price before and after the point: of a million tokens, and of a request or image, below the most that a hold can be. */
export const LIST_PRICE_DIGITS = { perMillion: { whole: 7, decimals: 6 }, each: { whole: 6, decimals: 12 } } as const;
/** USD per million tokens as a decimal string. A token's price is then whole pico-USD. */
export const USD_PER_MILLION = /^\d{1,7}(\.\d{1,6})?$/;
/** USD per request or image as a decimal string, exact to the pico-dollar. */
export const USD_EACH = /^\d{1,6}(\.\d{1,12})?$/;

/** Parses a list price in USD per million tokens, such as `"0.15"`. Exact; throws `RangeError` on more than six decimals. */
export function parseUsdPerMillionTokens(text: string): bigint {
  if (!USD_PER_MILLION.test(text))
    throw new RangeError(`not a price per million tokens such as "0.15" (at most six decimals): ${JSON.stringify(text)}`);
  return parseUsd(text) / 1_000_000n;
}

export interface BillableUsage {
  /** Includes the next three. */
  promptTokens: number;
  /** Read from the upstream's cache. */
  cachedTokens: number;
  /** Written to the upstream's cache for 5 minutes. Absent: 0. */
  cacheWriteTokens?: number;
  /** Written to the upstream's cache for an hour. Absent: 0. */
  cacheWrite1hTokens?: number;
  outputTokens: number;
}

/**
 * Exact cost of a usage. A usage without tokens is of a request that is not billed, and costs nothing; any other one also costs the price of
 * a request and of its images. Requires counts of which those of the cache are within the prompt; throws `RangeError` otherwise.
 */
export function computeCost(usage: BillableUsage, price: Price): PicoUsd {
  const { promptTokens, outputTokens } = usage;
  const parts = promptParts(usage);
  if (!(isCount(promptTokens) && isCount(outputTokens) && parts.every(isCount))) {
    throw new RangeError(`impossible usage: ${JSON.stringify(usage)}`);
  }
  const prices = promptPrices(price);
  let cost = BigInt(outputTokens) * price.outputPicoUsd;
  parts.forEach((tokens, part) => {
    if (tokens > 0) cost += BigInt(tokens) * (prices[part] as bigint);
  });
  return picoUsd(promptTokens + outputTokens > 0 ? cost + besidesTokens(price) : cost);
}

/** Tokens of a prompt by what the upstream did with them: read from its cache, neither read nor written, written for 5 minutes, for an hour. */
type PromptParts<Of> = [cached: Of, plain: Of, written: Of, written1h: Of];

/** Negative when more is cached than the prompt has. */
function promptParts({ promptTokens, cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0 }: BillableUsage): PromptParts<number> {
  return [cachedTokens, promptTokens - cachedTokens - cacheWriteTokens - cacheWrite1hTokens, cacheWriteTokens, cacheWrite1hTokens];
}

/** Every price that a prompt token can have. A hold takes the dearest one, a charge that of each part. */
function promptPrices(price: Price): PromptParts<bigint> {
  return [price.cachedInputPicoUsd, price.inputPicoUsd, ...cacheWritePrices(price)];
}

/** Returns the prices of a token that is written to a cache for 5 minutes and for an hour, also where the price does not name them. */
export function cacheWritePrices<Amount>(price: {
  inputPicoUsd: Amount;
  cacheWritePicoUsd?: Amount;
  cacheWrite1hPicoUsd?: Amount;
}): [written: Amount, written1h: Amount] {
  const { inputPicoUsd, cacheWritePicoUsd = inputPicoUsd, cacheWrite1hPicoUsd = cacheWritePicoUsd } = price;
  return [cacheWritePicoUsd, cacheWrite1hPicoUsd];
}

/** Returns what a billed request costs besides its tokens. */
function besidesTokens({ requestPicoUsd = 0n, imagePicoUsd, images = 0 }: Price): bigint {
  return imagePicoUsd === undefined ? requestPicoUsd : requestPicoUsd + BigInt(images) * imagePicoUsd;
}

/**
 * Returns the usage with as many prompt tokens as `amount` covers; the same usage when it covers all. Of a short prompt, an upstream may
 * count more tokens than one a byte. `amount` must cover the request, its images and the output.
 */
export function limitPrompt<Used extends BillableUsage>(usage: Used, amount: PicoUsd, price: Price): Used {
  if (computeCost(usage, price) <= amount) return usage;
  const prices = promptPrices(price);
  let left = amount - besidesTokens(price) - BigInt(usage.outputTokens) * price.outputPicoUsd;
  const [cachedTokens, plain, written, written1h] = promptParts(usage).map((tokens, part) => {
    const price = prices[part] as bigint;
    const paid = affordable(tokens, price, left);
    left -= BigInt(paid) * price;
    return paid;
  }) as PromptParts<number>;
  return {
    ...usage,
    promptTokens: cachedTokens + plain + written + written1h,
    cachedTokens,
    ...(usage.cacheWriteTokens !== undefined && { cacheWriteTokens: written }),
    ...(usage.cacheWrite1hTokens !== undefined && { cacheWrite1hTokens: written1h }),
  };
}

/** Returns the most of `tokens` that `amount` pays for. */
function affordable(tokens: number, price: bigint, amount: bigint): number {
  return price === 0n || BigInt(tokens) * price <= amount ? tokens : Number(amount / price);
}

interface HoldSize {
  promptTokensMax: number;
  outputTokensMax: number;
}

/** The most that a request can cost. */
export function holdFor({ promptTokensMax, outputTokensMax }: HoldSize, price: Price): PicoUsd {
  const dearest = promptPrices(price).reduce((one, other) => (one > other ? one : other));
  return picoUsd(besidesTokens(price) + BigInt(promptTokensMax) * dearest + BigInt(outputTokensMax) * price.outputPicoUsd);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
