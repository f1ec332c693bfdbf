import { isDeepStrictEqual } from 'node:util';
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
  const { version, ...price } = current;
  return isDeepStrictEqual(price, wanted) ? current : { version: version + 1, ...wanted };
}

export function renderPrice({ version, ...price }: VersionedPrice): CatalogModel['price'] {
  return { version, ...renderPriceText(price) };
}
