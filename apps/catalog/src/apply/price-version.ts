import type { CatalogModel } from '#contracts/catalog.js';
import type { Price } from '#money/price.js';

export interface VersionedPrice extends Price {
  /** From 1. Holds refer to it, so a stored version never changes. */
  version: number;
}

/** Returns the current version when all three prices are equal, otherwise the next one, even if the price returns to an earlier value. */
export function priceVersion(current: VersionedPrice | undefined, wanted: Price): VersionedPrice {
  if (current === undefined) return { version: 1, ...wanted };
  const same =
    current.inputPicoUsd === wanted.inputPicoUsd &&
    current.cachedInputPicoUsd === wanted.cachedInputPicoUsd &&
    current.outputPicoUsd === wanted.outputPicoUsd;
  return same ? current : { version: current.version + 1, ...wanted };
}

export function renderPrice({ version, inputPicoUsd, cachedInputPicoUsd, outputPicoUsd }: VersionedPrice): CatalogModel['price'] {
  return {
    version,
    inputPicoUsd: String(inputPicoUsd),
    cachedInputPicoUsd: String(cachedInputPicoUsd),
    outputPicoUsd: String(outputPicoUsd),
  };
}
