import { Literal, scaleExactly } from './exact-json.js';
import { isGroup, isNothing, type ListEntry, type ListedAmount, type ListedPrice, PriceReader } from './list-entry.js';

/** Amounts are in USD per million tokens. */
const PICO_EXPONENT = 6;

const FIELDS: Readonly<Record<string, ListedAmount['of']>> = {
  input: 'inputPicoUsd',
  output: 'outputPicoUsd',
  cache_read: 'cachedInputPicoUsd',
  cache_write: 'cacheWritePicoUsd',
};

/** Returns the entries of models.dev's `api.json`; undefined when it is another file. */
export function readModelsDev(list: Record<string, unknown>): ListEntry[] | undefined {
  const entries = Object.entries(list).flatMap(([provider, about]) => {
    const models = isGroup(about) && isGroup(about.models) ? about.models : {};
    return Object.entries(models).flatMap(([model, entry]) =>
      isGroup(entry) ? [{ key: `${provider}/${model}`, provider, read: () => readEntry(entry) }] : [],
    );
  });
  return entries.length > 0 ? entries : undefined;
}

function readEntry({ cost, experimental }: Record<string, unknown>): ListedPrice {
  const reader = new PriceReader();
  const { tiers, context_over_200k: over200k, ...prices } = isGroup(cost) ? cost : {};
  readPrices(reader, 'cost', prices);
  if (Array.isArray(tiers)) for (const [index, tier] of tiers.entries()) readTier(reader, `cost.tiers[${index}]`, tier);
  // The older form of the same prices, which stands beside the newer one.
  else if (isGroup(over200k)) readPrices(reader, 'cost.context_over_200k', over200k, 200_000);
  if (isGroup(experimental) && !isNothing(experimental.modes)) reader.leave('experimental.modes', experimental.modes);
  return reader.price();
}

function readPrices(reader: PriceReader, path: string, prices: Record<string, unknown>, above?: number): void {
  for (const [field, value] of Object.entries(prices)) {
    const of = FIELDS[field];
    if (of !== undefined) reader.take(`${path}.${field}`, value, PICO_EXPONENT, { of, ...(above !== undefined && { above }) });
    else if (!isNothing(value)) reader.leave(`${path}.${field}`, value);
  }
}

/** A tier of models.dev is a size of the prompt: `{"tier": {"type": "context", "size": 272000}, "input": 5}`. */
function readTier(reader: PriceReader, path: string, entry: unknown): void {
  const { tier, ...prices } = isGroup(entry) ? entry : {};
  const { type, size } = isGroup(tier) ? tier : {};
  const above = type === 'context' && size instanceof Literal ? scaleExactly(size, 0) : undefined;
  if (above === undefined) reader.leave(path, entry);
  else readPrices(reader, path, prices, Number(above));
}
