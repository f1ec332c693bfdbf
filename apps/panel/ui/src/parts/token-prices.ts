import type { PinnedPrice } from '../../../src/shapes/billing.js';

/** Prices of a token in pico-USD. */
export interface TokenPrices {
  input: bigint;
  cached: bigint;
  /** Price of a token that the upstream writes to its cache for 5 minutes, and for an hour. */
  write: bigint;
  write1h: bigint;
  output: bigint;
}

/** Returns every price of a token. A write to a cache without a price of its own costs the input price; one for an hour that of 5 minutes. */
export function tokenPrices(price: Omit<PinnedPrice, 'version'>): TokenPrices {
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd = inputPicoUsd, cacheWrite1hPicoUsd = cacheWritePicoUsd } = price;
  return {
    input: BigInt(inputPicoUsd),
    cached: BigInt(cachedInputPicoUsd),
    write: BigInt(cacheWritePicoUsd),
    write1h: BigInt(cacheWrite1hPicoUsd),
    output: BigInt(price.outputPicoUsd),
  };
}
