import { Prisma } from '#database/prisma-client.js';
import type { Price } from '#money/price.js';
import { type PriceText, parsePrice, renderPriceText } from '#money/price-plan.js';

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
  /** Steps, tiers and image classes as they are sent. Null: none. */
  rules: Prisma.JsonValue;
}

export function toPriceColumns(price: Price): PriceColumns {
  const { steps, tiers, imageSteps } = renderPriceText(price);
  const rules = { ...(steps && { steps }), ...(tiers && { tiers }), ...(imageSteps && { imageSteps }) };
  return {
    inputPrice: price.inputPicoUsd,
    cachedInputPrice: price.cachedInputPicoUsd,
    cacheWritePrice: price.cacheWritePicoUsd ?? null,
    cacheWrite1hPrice: price.cacheWrite1hPicoUsd ?? null,
    outputPrice: price.outputPicoUsd,
    requestPrice: price.requestPicoUsd ?? null,
    imagePrice: price.imagePicoUsd ?? null,
    rules: Object.keys(rules).length > 0 ? (rules as object as Prisma.JsonObject) : null,
  };
}

/** Returns the columns as Prisma writes them. */
export function writtenColumns({ rules, ...columns }: PriceColumns) {
  return { ...columns, rules: rules ?? Prisma.DbNull };
}

export function toPrice(columns: PriceColumns): Price {
  const { inputPrice, cachedInputPrice, cacheWritePrice, cacheWrite1hPrice, outputPrice, requestPrice, imagePrice, rules } = columns;
  const { steps, tiers, imageSteps } = parsePrice({ ...NO_PRICE, ...(rules as object | null) });
  return {
    inputPicoUsd: inputPrice,
    cachedInputPicoUsd: cachedInputPrice,
    ...(cacheWritePrice !== null && { cacheWritePicoUsd: cacheWritePrice }),
    ...(cacheWrite1hPrice !== null && { cacheWrite1hPicoUsd: cacheWrite1hPrice }),
    outputPicoUsd: outputPrice,
    ...(requestPrice !== null && { requestPicoUsd: requestPrice }),
    ...(imagePrice !== null && { imagePicoUsd: imagePrice }),
    ...(steps && { steps }),
    ...(tiers && { tiers }),
    ...(imageSteps && { imageSteps }),
  };
}

const NO_PRICE: PriceText = { inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '0' };
