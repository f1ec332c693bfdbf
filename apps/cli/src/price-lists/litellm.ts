import { isGroup, isNothing, type ListEntry, type ListedAmount, type ListedPrice, PriceReader } from './list-entry.js';

/** Amounts are in USD per token. */
const PICO_EXPONENT = 12;

const FIELDS: Readonly<Record<string, ListedAmount['of']>> = {
  input_cost_per_token: 'inputPicoUsd',
  output_cost_per_token: 'outputPicoUsd',
  cache_read_input_token_cost: 'cachedInputPicoUsd',
  cache_creation_input_token_cost: 'cacheWritePicoUsd',
  cache_creation_input_token_cost_above_1hr: 'cacheWrite1hPicoUsd',
  input_cost_per_request: 'requestPicoUsd',
};

/** Such as `input_cost_per_token_above_200k_tokens_priority`. Batches are another API, and no tier. */
const FIELD = new RegExp(`^(${Object.keys(FIELDS).join('|')})(?:_above_(\\d{1,6})k_tokens)?(?:_(?!above_|batches$)([a-z]+))?$`);

/** Other fields that are about money. */
const ABOUT_COST = /cost|pric|multiplier/;

/** The entry that explains the fields. */
const EXAMPLE = 'sample_spec';

/** Returns the entries of LiteLLM's `model_prices_and_context_window.json`; undefined when it is another file. */
export function readLitellm(list: Record<string, unknown>): ListEntry[] | undefined {
  const entries = Object.entries(list).flatMap(([key, entry]) =>
    isGroup(entry) && typeof entry.litellm_provider === 'string' && key !== EXAMPLE
      ? [{ key, provider: entry.litellm_provider, read: () => readEntry(entry) }]
      : [],
  );
  return entries.length > 0 ? entries : undefined;
}

function readEntry(entry: Record<string, unknown>): ListedPrice {
  const reader = new PriceReader();
  for (const [field, value] of Object.entries(entry)) {
    const [, name = '', thousands, tier] = FIELD.exec(field) ?? [];
    const of = FIELDS[name];
    if (of !== undefined && value !== null) {
      reader.take(field, value, PICO_EXPONENT, { of, ...(thousands && { above: Number(thousands) * 1_000 }), ...(tier && { tier }) });
    } else if (ABOUT_COST.test(field) && !isNothing(value)) reader.leave(field, value);
  }
  return reader.price();
}
