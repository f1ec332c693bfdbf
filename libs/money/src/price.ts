import { type PicoUsd, picoUsd } from './pico-usd.js';

/**
 * Integers of pico-USD a token, a request and an image. A list price of at most six decimals per million tokens is exact: $0.15/M is
 * 150,000. So a cost is a sum of products and never rounded.
 */
export interface Price {
  inputPicoUsd: bigint;
  cachedInputPicoUsd: bigint;
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

const USD_PER_MILLION = /^(\d{1,7})(?:\.(\d{1,6}))?$/;

/** Parses a list price in USD per million tokens, such as `"0.15"`. Exact; throws `RangeError` on more than six decimals. */
export function parseUsdPerMillionTokens(text: string): bigint {
  const match = USD_PER_MILLION.exec(text);
  if (!match) throw new RangeError(`not a price per million tokens such as "0.15" (at most six decimals): ${JSON.stringify(text)}`);
  return BigInt(match[1] as string) * 1_000_000n + BigInt((match[2] ?? '').padEnd(6, '0'));
}

export interface BillableUsage {
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

/**
 * Exact cost of a usage. A usage without tokens is of a request that is not billed, and costs nothing; any other one also costs the price of
 * a request and of its images. Requires `0 ≤ cachedTokens ≤ promptTokens`; throws `RangeError` otherwise.
 */
export function costOf(usage: BillableUsage, price: Price): PicoUsd {
  const { promptTokens, cachedTokens, outputTokens } = usage;
  if (!(isCount(promptTokens) && isCount(cachedTokens) && isCount(outputTokens) && cachedTokens <= promptTokens)) {
    throw new RangeError(`impossible usage: ${JSON.stringify({ promptTokens, cachedTokens, outputTokens })}`);
  }
  const tokens =
    BigInt(promptTokens - cachedTokens) * price.inputPicoUsd +
    BigInt(cachedTokens) * price.cachedInputPicoUsd +
    BigInt(outputTokens) * price.outputPicoUsd;
  return picoUsd(promptTokens + outputTokens > 0 ? tokens + besidesTokens(price) : tokens);
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
  if (costOf(usage, price) <= amount) return usage;
  const { cachedTokens: cached, promptTokens, outputTokens } = usage;
  const forPrompt = amount - besidesTokens(price) - BigInt(outputTokens) * price.outputPicoUsd;
  const cachedTokens = affordable(cached, price.cachedInputPicoUsd, forPrompt);
  const left = forPrompt - BigInt(cachedTokens) * price.cachedInputPicoUsd;
  return { ...usage, promptTokens: cachedTokens + affordable(promptTokens - cached, price.inputPicoUsd, left), cachedTokens };
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
  const input = price.inputPicoUsd > price.cachedInputPicoUsd ? price.inputPicoUsd : price.cachedInputPicoUsd;
  return picoUsd(besidesTokens(price) + BigInt(promptTokensMax) * input + BigInt(outputTokensMax) * price.outputPicoUsd);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
