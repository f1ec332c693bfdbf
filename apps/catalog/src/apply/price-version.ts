import type { CatalogModel } from '#contracts/catalog.js';
import type { Price } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';

export interface VersionedPrice extends Price {
  /** From 1. Holds refer to it, so a stored version never changes. */
  version: number;
}

/** Returns the current version when all prices are equal, otherwise the next one, even if the price returns to an earlier value. */
export function priceVersion(current: VersionedPrice | undefined, wanted: Price): VersionedPrice {
  if (current === undefined) return { version: 1, ...wanted };
  const same =
    current.inputPicoUsd === wanted.inputPicoUsd &&
    current.cachedInputPicoUsd === wanted.cachedInputPicoUsd &&
    current.cacheWritePicoUsd === wanted.cacheWritePicoUsd &&
    current.cacheWrite1hPicoUsd === wanted.cacheWrite1hPicoUsd &&
    current.outputPicoUsd === wanted.outputPicoUsd &&
    current.requestPicoUsd === wanted.requestPicoUsd &&
    current.imagePicoUsd === wanted.imagePicoUsd;
  return same ? current : { version: current.version + 1, ...wanted };
}

export function renderPrice({ version, ...price }: VersionedPrice): CatalogModel['price'] {
  return { version, ...renderPriceText(price) };
}
