import type { Price } from '#money/price.js';

/** Columns of a price, of a model now or at a time ahead. */
interface PriceColumns {
  inputPrice: bigint;
  cachedInputPrice: bigint;
  /** Null: as `inputPrice`. */
  cacheWritePrice: bigint | null;
  /** Null: as `cacheWritePrice`. */
  cacheWrite1hPrice: bigint | null;
  outputPrice: bigint;
  /** Null: nothing. */
  requestPrice: bigint | null;
  /** Null: nothing. */
  imagePrice: bigint | null;
}

export function toPriceColumns(price: Price): PriceColumns {
  return {
    inputPrice: price.inputPicoUsd,
    cachedInputPrice: price.cachedInputPicoUsd,
    cacheWritePrice: price.cacheWritePicoUsd ?? null,
    cacheWrite1hPrice: price.cacheWrite1hPicoUsd ?? null,
    outputPrice: price.outputPicoUsd,
    requestPrice: price.requestPicoUsd ?? null,
    imagePrice: price.imagePicoUsd ?? null,
  };
}

export function toPrice(columns: PriceColumns): Price {
  const { inputPrice, cachedInputPrice, cacheWritePrice, cacheWrite1hPrice, outputPrice, requestPrice, imagePrice } = columns;
  return {
    inputPicoUsd: inputPrice,
    cachedInputPicoUsd: cachedInputPrice,
    ...(cacheWritePrice !== null && { cacheWritePicoUsd: cacheWritePrice }),
    ...(cacheWrite1hPrice !== null && { cacheWrite1hPicoUsd: cacheWrite1hPrice }),
    outputPicoUsd: outputPrice,
    ...(requestPrice !== null && { requestPicoUsd: requestPrice }),
    ...(imagePrice !== null && { imagePicoUsd: imagePrice }),
  };
}
