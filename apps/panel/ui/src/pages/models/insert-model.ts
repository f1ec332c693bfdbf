import { insertEntry } from '../upstreams/insert-entry.js';

/** A model of an upstream. */
export interface NewRoute {
  upstream: string;
  /** Its name there. */
  model: string;
}

/** Not a price, so that no one applies it unseen: the catalog refuses it, with its line. */
const UNSET = 'your price';

/**
 * Returns the text of a catalog with a draft of one more model, which has a route to an upstream, and the first line of the draft. The draft
 * has no prices. A model that has the name already keeps it: the new one is then named by its upstream too.
 */
export function insertModel(yaml: string, { upstream, model }: NewRoute): { yaml: string; line: number } {
  const isTaken = yaml.split('\n').some((line) => /^\s*- id: (.*?)\s*(#.*)?$/.exec(line)?.[1]?.replace(/^["']|["']$/g, '') === model);
  const price = JSON.stringify(UNSET);
  return insertEntry(yaml, 'models', [
    `id: ${JSON.stringify(isTaken ? `${upstream}-${model}` : model)}`,
    'ownedBy: us',
    'contextTokens: 131072     # prompt and output together',
    'maxOutputTokens: 8192     # largest reply',
    '# USD per million tokens, such as "0.15"',
    `price: { inputUsdPerMTok: ${price}, cachedInputUsdPerMTok: ${price}, outputUsdPerMTok: ${price} }`,
    `routes: [{ upstream: ${JSON.stringify(upstream)}, model: ${JSON.stringify(model)} }]`,
  ]);
}
