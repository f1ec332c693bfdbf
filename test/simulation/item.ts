import type { Price } from '#money/price.js';
import { renderPriceText } from '#money/price-plan.js';
import { TEST_MODEL } from '#testing/fake-services.js';
import type { Item } from '../../apps/gateway/src/clients/catalog.js';

export const SERVICE = 'crawler';
/** Ceilings of the service, which some crawls of a run reach. */
export const DAY_MAX = 30_000_000n;
export const OPEN_HOLDS_MAX = 2;
const PRICE: Price = { inputPicoUsd: 0n, cachedInputPicoUsd: 0n, outputPicoUsd: 0n, requestPicoUsd: 2_000_000n };
export const ITEM: Item = {
  id: `${SERVICE}/page`,
  unit: 'page',
  service: { id: SERVICE, holdMaxPicoUsd: null, dayMaxPicoUsd: `${DAY_MAX}`, openHoldsMax: OPEN_HOLDS_MAX },
  price: PRICE,
  pinnedPrice: { version: TEST_MODEL.price.version, ...renderPriceText(PRICE) },
} as Item;
