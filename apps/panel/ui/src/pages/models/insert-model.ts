import { insertEntry, readIds } from '../upstreams/insert-entry.js';

/** A model of an upstream. */
export interface NewRoute {
  upstream: string;
  /** Its name there. */
  model: string;
}

/** A model as the form has it. Prices are USD per million tokens as decimals. */
export interface NewModel extends NewRoute {
  id: string;
  contextTokens: bigint;
  maxOutputTokens: bigint;
  /** Absent: the catalog's default. */
  defaultOutputTokens?: bigint | undefined;
  takesImages: boolean;
  reasons: boolean;
  price: {
    inputUsdPerMTok: string;
    cachedInputUsdPerMTok: string;
    /** Absent: as input. */
    cacheWriteUsdPerMTok?: string | undefined;
    outputUsdPerMTok: string;
  };
}

/** Not a price, so that no one applies it unseen: the catalog refuses it, with its line. */
const UNSET = 'your price';

/**
 * Returns the text of a catalog with a draft of one more model, which has a route to an upstream, and the first line of the draft. The draft
 * has no prices. A model that has the name already keeps it: the new one is then named by its upstream too.
 */
export function insertModel(yaml: string, { upstream, model }: NewRoute): { yaml: string; line: number } {
  const price = JSON.stringify(UNSET);
  return insertEntry(yaml, 'models', [
    `id: ${JSON.stringify(readIds(yaml, 'models').includes(model) ? `${upstream}-${model}` : model)}`,
    'ownedBy: us',
    'contextTokens: 131072     # prompt and output together',
    'maxOutputTokens: 8192     # largest reply',
    '# USD per million tokens, such as "0.15"',
    `price: { inputUsdPerMTok: ${price}, cachedInputUsdPerMTok: ${price}, outputUsdPerMTok: ${price} }`,
    routesLine({ upstream, model }),
  ]);
}

/** As `insertModel`, with every field of the form. Texts are quoted as JSON is, which YAML reads: a price is never a float. */
export function insertWholeModel(yaml: string, model: NewModel): { yaml: string; line: number } {
  const { id, contextTokens, maxOutputTokens, defaultOutputTokens, takesImages, reasons } = model;
  const prices = Object.entries(model.price).flatMap(([name, usd]) => (usd === undefined ? [] : [`${name}: ${JSON.stringify(usd)}`]));
  return insertEntry(yaml, 'models', [
    `id: ${JSON.stringify(id)}`,
    'ownedBy: us',
    `contextTokens: ${contextTokens}`,
    `maxOutputTokens: ${maxOutputTokens}`,
    ...(defaultOutputTokens === undefined ? [] : [`defaultOutputTokens: ${defaultOutputTokens}`]),
    ...(takesImages ? ['input: [text, image]'] : []),
    ...(reasons ? ['reasoning: true'] : []),
    `price: { ${prices.join(', ')} }`,
    routesLine(model),
  ]);
}

function routesLine({ upstream, model }: NewRoute): string {
  return `routes: [{ upstream: ${JSON.stringify(upstream)}, model: ${JSON.stringify(model)} }]`;
}
