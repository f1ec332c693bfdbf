import { type DollarForm, describeOtherPrices } from '#money/describe-rules.js';
import type { CatalogModel, ModelListReply } from '../../../../src/shapes/catalog.js';
import { count } from '../../format/numbers.js';

export type Scheduled = NonNullable<ModelListReply['scheduledPrices']>[number];

/** Returns the next scheduled price of each model. `scheduled` is in the order of time. */
export function nextPrices(scheduled: readonly Scheduled[] = []): Map<string, Scheduled> {
  const next = new Map<string, Scheduled>();
  for (const price of scheduled) if (!next.has(price.model)) next.set(price.model, price);
  return next;
}

/** Abilities of a model besides writing text, in words, after its owner: images, reasoning, embeddings. */
export function abilities({ ownedBy, input, reasoning, embeddingDimensions }: CatalogModel): string[] {
  return [
    ownedBy,
    ...(input.includes('image') ? ['images'] : []),
    ...(reasoning ? ['reasoning'] : []),
    ...(embeddingDimensions == null ? [] : [`embeddings of ${count(embeddingDimensions)} dimensions`]),
  ];
}

/** Tokens of the longest reply. A model for embeddings writes none. */
export function renderLongestReply({ maxOutputTokens, embeddingDimensions }: CatalogModel): string {
  return embeddingDimensions == null ? count(maxOutputTokens) : '–';
}

/** One kind of price, with its amount in each of several prices. Undefined: a price has none of the kind. */
export interface PriceRow {
  name: string;
  texts: (string | undefined)[];
}

/** Returns the rows of a table of prices. Rules for long prompts, tiers and images are lines of their own. */
export function priceRows(prices: readonly CatalogModel['price'][], form: DollarForm): PriceRow[] {
  const ofTokens = (name: string, read: (price: CatalogModel['price']) => string): PriceRow => ({
    name,
    texts: prices.map((price) => form.perMillion(BigInt(read(price)))),
  });
  const others = prices.map((price) => new Set(describeOtherPrices(price, form)));
  const lines = new Set(others.flatMap((set) => [...set]));
  return [
    ofTokens('Input', ({ inputPicoUsd }) => inputPicoUsd),
    ofTokens('Cached input', ({ cachedInputPicoUsd }) => cachedInputPicoUsd),
    ofTokens('Output', ({ outputPicoUsd }) => outputPicoUsd),
    ...[...lines].map((line) => ({ name: line, texts: others.map((set) => (set.has(line) ? 'yes' : undefined)) })),
  ];
}
