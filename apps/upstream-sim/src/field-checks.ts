import { SimError } from './sim-error.js';

export type Json = Record<string, unknown>;

/** Returns undefined for a body that is not JSON. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a body to an object with a model. */
export function parseBody(body: string): Json & { model: string } {
  const value = parseJson(body);
  if (!isObject(value)) throw SimError.invalid('We could not parse the JSON body of your request.');
  if (typeof value.model !== 'string') throw SimError.invalid('you must provide a model parameter', 'model');
  return { ...value, model: value.model };
}

/** A 400 that names the field at fault. */
export function invalidValue(param: string, expected: string): SimError {
  return SimError.invalid(`Invalid value for '${param}': expected ${expected}.`, param);
}

/** The limit of OpenAI. */
const CACHE_KEY_LENGTH_MAX = 64;

/** Checks OpenAI's `prompt_cache_key` and vLLM's `cache_salt`. */
export function checkCacheFields({ prompt_cache_key: key, cache_salt: salt }: Json): void {
  if (key != null && (typeof key !== 'string' || key.length > CACHE_KEY_LENGTH_MAX)) {
    throw invalidValue('prompt_cache_key', `a string of at most ${CACHE_KEY_LENGTH_MAX} characters`);
  }
  if (salt != null && (typeof salt !== 'string' || salt === '')) throw invalidValue('cache_salt', 'a non-empty string');
}
