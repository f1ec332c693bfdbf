import { SimError } from '../sim-error.js';

/** The refusal of a field's value, naming the field. */
export function wrong(param: string, expected: string): SimError {
  return SimError.invalid(`Invalid value for '${param}': expected ${expected}.`, param);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
