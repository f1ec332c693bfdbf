/** Address of docs/runbooks.md where operators read it. */
export const RUNBOOKS: string;
/** Returns the text of each file that scripts/observability.mjs writes, by its path. */
export function observabilityFiles(): Record<string, string>;
