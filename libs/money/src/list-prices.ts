import { mapPrice, withoutFreeUnits } from './map-price.js';
import { parseUsd, renderUsd } from './pico-usd.js';
import { type Price, type PriceStep, parseUsdPerMillionTokens } from './price.js';

interface ListPromptPrices {
  inputUsdPerMTok: string;
  cachedInputUsdPerMTok: string;
  cacheWriteUsdPerMTok?: string;
  cacheWrite1hUsdPerMTok?: string;
}

interface ListStep extends ListPromptPrices {
  above: number;
  /** Absent: `whole`. */
  reprices?: PriceStep['reprices'];
  outputUsdPerMTok?: string;
}

interface ListTokenPrices extends ListPromptPrices {
  outputUsdPerMTok: string;
  steps?: ListStep[];
}

/** Prices in USD as operators write them (`Price`): per million tokens, per request and per image. */
export interface ListPrices extends ListTokenPrices {
  tiers?: (ListTokenPrices & { tier: string })[];
  requestUsd?: string;
  imageUsd?: string;
  imageSteps?: { aboveBytes: number; imageUsd: string }[];
}

/** Exact; throws `RangeError`. A price of zero for a request or an image is none; one for writing to a cache is zero. */
export function parseListPrices(list: ListPrices): Price {
  const texts = rename(list, PICO_NAMES) as Price<string>;
  return withoutFreeUnits(mapPrice(withSteps(texts), { perToken: parseUsdPerMillionTokens, each: parseUsd }));
}

export function renderListPrices(price: Price): ListPrices {
  const texts = mapPrice(price, { perToken: (amount) => renderUsd(amount * 1_000_000n), each: renderUsd });
  return rename(texts, LIST_NAMES) as ListPrices;
}

/** Names of amounts in a list, by those in a price. */
const LIST_NAMES: Readonly<Record<string, string>> = {
  inputPicoUsd: 'inputUsdPerMTok',
  cachedInputPicoUsd: 'cachedInputUsdPerMTok',
  cacheWritePicoUsd: 'cacheWriteUsdPerMTok',
  cacheWrite1hPicoUsd: 'cacheWrite1hUsdPerMTok',
  outputPicoUsd: 'outputUsdPerMTok',
  requestPicoUsd: 'requestUsd',
  imagePicoUsd: 'imageUsd',
};
const PICO_NAMES = Object.fromEntries(Object.entries(LIST_NAMES).map(([pico, list]) => [list, pico]));

/** Returns a value with other names of its fields, at any depth. Fields that are undefined are left out. */
function rename(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (Array.isArray(value)) return value.map((each) => rename(each, names));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [names[name] ?? name, rename(field, names)]));
}

function withSteps(price: Price<string>): Price<string> {
  const whole = <Prices extends { steps?: Omit<PriceStep<string>, 'reprices'>[] }>(prices: Prices): Prices =>
    prices.steps ? { ...prices, steps: prices.steps.map((step) => ({ reprices: 'whole', ...step })) } : prices;
  return { ...whole(price), ...(price.tiers && { tiers: price.tiers.map(whole) }) };
}
