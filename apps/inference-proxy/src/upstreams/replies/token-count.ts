/** Largest count the contracts carry; no reply comes near it. */
export const TOKENS_MAX = 2 ** 31 - 1;

/** Returns the count an upstream gave; 0 for anything that is not a positive number. */
export function parseTokenCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(TOKENS_MAX, Math.trunc(value)) : 0;
}
