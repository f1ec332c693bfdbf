import { SimError } from '../sim-error.js';

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

/** A 400 that names the field at fault. */
export function invalidValue(param: string, expected: string): SimError {
  return SimError.invalid(`Invalid value for '${param}': expected ${expected}.`, param);
}
