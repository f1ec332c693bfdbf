import { parseExactJson } from './exact-json.js';
import { isGroup, type ListEntry } from './list-entry.js';
import { readLitellm } from './litellm.js';
import { readModelsDev } from './models-dev.js';

export interface PriceList {
  name: 'LiteLLM' | 'models.dev';
  entries: ListEntry[];
}

/** Reads one of the public price lists. Undefined: the text is none. */
export function readPriceList(text: string): PriceList | undefined {
  const list = parse(text);
  if (!isGroup(list)) return undefined;
  const litellm = readLitellm(list);
  if (litellm) return { name: 'LiteLLM', entries: litellm };
  const modelsDev = readModelsDev(list);
  return modelsDev && { name: 'models.dev', entries: modelsDev };
}

function parse(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
