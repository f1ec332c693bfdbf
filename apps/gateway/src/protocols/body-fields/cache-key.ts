import type { JsonObject } from './body-fields.js';

const LENGTH_MAX = 256;

/** Returns the client's `prompt_cache_key`, cut to 256 characters. It is a hint: one that is no text is ignored. */
export function parseCacheKey({ prompt_cache_key: key }: JsonObject): string | undefined {
  return typeof key === 'string' && key !== '' ? key.slice(0, LENGTH_MAX) : undefined;
}
