import { TIER, USUAL_TIERS } from '#inference/usage.js';
import { type ListPrices, renderListPrices } from '#money/list-prices.js';
import type { Price, PriceStep, TokenPrices } from '#money/price.js';
import type { ListedAmount } from './list-entry.js';

/** A field of a price as the catalog file has it. Null: it is not there. */
export interface FieldChange {
  field: string;
  now: string | null;
  list: string | null;
}

export interface Comparison {
  /** The present price with the amounts of the list. What the list does not name is as it is. */
  price: ListPrices;
  changes: FieldChange[];
  /** Fields of the present price that the list does not name. */
  kept: string[];
  /** Tiers of the list that the price does not have and that were not asked for: each would raise the holds. */
  otherTiers: string[];
}

/** Compares a price with the amounts of a list. */
export function comparePrices(present: Price, amounts: readonly ListedAmount[], wantedTiers: readonly string[]): Comparison {
  const byTier = Map.groupBy(amounts, ({ tier }) => tier);
  const usual = byTier.get(undefined) ?? [];
  const base = withListed(present, usual);
  const isWanted = (tier: string): boolean => wantedTiers.includes(tier) || (present.tiers ?? []).some((own) => own.tier === tier);
  const listedTiers = [...byTier.keys()]
    .filter((tier) => tier !== undefined)
    .filter((tier) => TIER.test(tier) && !USUAL_TIERS.includes(tier));
  const tiers = [...new Set([...(present.tiers ?? []).map(({ tier }) => tier), ...listedTiers.filter(isWanted)])].map((tier) => {
    const { steps: _, ...start } = base;
    const own = present.tiers?.find((prices) => prices.tier === tier);
    return { tier, ...withListed(own ?? tokenPrices(start), byTier.get(tier) ?? []) };
  });
  const request = usual.find(({ of }) => of === 'requestPicoUsd')?.picoUsd;
  const price = renderListPrices({
    ...present,
    ...base,
    ...(tiers.length > 0 && { tiers }),
    ...(request !== undefined && request > 0n && { requestPicoUsd: request }),
  });
  const [now, list] = [flatten(renderListPrices(present)), flatten(price)];
  const fields = [...new Set([...now.keys(), ...list.keys()])];
  return {
    price,
    changes: fields.flatMap((field) => {
      const change = { field, now: now.get(field) ?? null, list: list.get(field) ?? null };
      return change.now === change.list ? [] : [change];
    }),
    kept: findKept(present, amounts),
    otherTiers: listedTiers.filter((tier) => !isWanted(tier)),
  };
}

type Amounts = Omit<TokenPrices, 'steps'>;

/** Returns prices with those of a list. Steps of a list replace all; what a step does not name is as without it. */
function withListed(present: TokenPrices, amounts: readonly ListedAmount[]): TokenPrices {
  const bySize = Map.groupBy(amounts, ({ above = 0 }) => above);
  const base: Amounts = { ...tokenPrices(present), ...pick(bySize.get(0) ?? []) };
  const bounds = [...bySize.keys()].filter((above) => above > 0).sort((one, other) => one - other);
  const { outputPicoUsd: _, ...prompt } = base;
  const steps = bounds.map((above): PriceStep => ({ above, reprices: 'whole', ...prompt, ...pick(bySize.get(above) ?? []) }));
  return { ...base, ...(steps.length > 0 ? { steps } : present.steps && { steps: present.steps }) };
}

function tokenPrices({ inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd, outputPicoUsd }: Amounts): Amounts {
  return {
    inputPicoUsd,
    cachedInputPicoUsd,
    ...(cacheWritePicoUsd !== undefined && { cacheWritePicoUsd }),
    ...(cacheWrite1hPicoUsd !== undefined && { cacheWrite1hPicoUsd }),
    outputPicoUsd,
  };
}

function pick(amounts: readonly ListedAmount[]): Partial<Amounts> {
  return Object.fromEntries(amounts.filter(({ of }) => of !== 'requestPicoUsd').map(({ of, picoUsd }) => [of, picoUsd]));
}

/** Names the fields of a price that no amount is for. */
function findKept(present: Price, amounts: readonly ListedAmount[]): string[] {
  const isListed = (of: string, tier?: string): boolean =>
    amounts.some((amount) => amount.of === of && amount.tier === tier && amount.above === undefined);
  const of = (prices: TokenPrices, tier?: string): string[] => [
    ...TOKEN_FIELDS.filter(([pico]) => prices[pico] !== undefined && !isListed(pico, tier)).map(([, field]) => field),
    ...(prices.steps && !amounts.some((amount) => amount.tier === tier && amount.above !== undefined) ? ['steps'] : []),
  ];
  return [
    ...of(present),
    ...(present.tiers ?? []).flatMap((prices) => of(prices, prices.tier).map((field) => `tiers[${prices.tier}].${field}`)),
    ...(present.requestPicoUsd !== undefined && !isListed('requestPicoUsd') ? ['requestUsd'] : []),
    ...(present.imagePicoUsd === undefined ? [] : ['imageUsd']),
    ...(present.imageSteps ? ['imageSteps'] : []),
  ];
}

const TOKEN_FIELDS = [
  ['inputPicoUsd', 'inputUsdPerMTok'],
  ['cachedInputPicoUsd', 'cachedInputUsdPerMTok'],
  ['cacheWritePicoUsd', 'cacheWriteUsdPerMTok'],
  ['cacheWrite1hPicoUsd', 'cacheWrite1hUsdPerMTok'],
  ['outputPicoUsd', 'outputUsdPerMTok'],
] as const;

/** Returns the amounts of a price by their place: `steps[200000].inputUsdPerMTok`. */
function flatten(value: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([name, field]: [string, unknown]): [string, string][] => {
      if (Array.isArray(field)) {
        return field.flatMap((each: { above?: number; tier?: string; aboveBytes?: number }) => {
          const { above, tier, aboveBytes, ...rest } = each;
          return [...flatten(rest, `${path}${name}[${above ?? tier ?? aboveBytes}].`)];
        });
      }
      return [[`${path}${name}`, String(field)]];
    }),
  );
}
