/** Returns the text of each file that scripts/observability.mjs writes, by its path. */
export function observabilityFiles(): Record<string, string>;
