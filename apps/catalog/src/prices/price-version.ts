import type { Price } from '#money/price.js';

export interface VersionedPrice extends Price {
  /** From 1. A hold is pinned to it, so a version never changes once it is recorded. */
  version: number;
}

/** The version a wanted price has: the current one while all three are the same, otherwise the next; also when it goes back to an earlier price. */
export function priceVersion(current: VersionedPrice | undefined, wanted: Price): VersionedPrice {
  if (current === undefined) return { version: 1, ...wanted };
  const same =
    current.inputPicoUsd === wanted.inputPicoUsd &&
    current.cachedInputPicoUsd === wanted.cachedInputPicoUsd &&
    current.outputPicoUsd === wanted.outputPicoUsd;
  return same ? current : { version: current.version + 1, ...wanted };
}
