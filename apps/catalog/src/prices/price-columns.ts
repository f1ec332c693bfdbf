import type { Price } from '#money/price.js';

/** Columns of a price, of a model now or at a time ahead. */
interface PriceColumns {
  inputPrice: bigint;
  cachedInputPrice: bigint;
  outputPrice: bigint;
  /** Null: nothing. */
  requestPrice: bigint | null;
  /** Null: nothing. */
  imagePrice: bigint | null;
}

export function columnsOfPrice({ inputPicoUsd, cachedInputPicoUsd, outputPicoUsd, requestPicoUsd, imagePicoUsd }: Price): PriceColumns {
  return {
    inputPrice: inputPicoUsd,
    cachedInputPrice: cachedInputPicoUsd,
    outputPrice: outputPicoUsd,
    requestPrice: requestPicoUsd ?? null,
    imagePrice: imagePicoUsd ?? null,
  };
}

export function priceOfColumns({ inputPrice, cachedInputPrice, outputPrice, requestPrice, imagePrice }: PriceColumns): Price {
  return {
    inputPicoUsd: inputPrice,
    cachedInputPicoUsd: cachedInputPrice,
    outputPicoUsd: outputPrice,
    ...(requestPrice !== null && { requestPicoUsd: requestPrice }),
    ...(imagePrice !== null && { imagePicoUsd: imagePrice }),
  };
}
