import { sourcesOfFormer, type UsageSources } from '#contracts/billing/holds.js';

/**
 * Sources in a row of the database. `formerSource` is set only on rows last written by a release that had one source column instead of two.
 */
interface SourceColumns {
  promptSource: string | null;
  outputSource: string | null;
  formerSource: string | null;
}

/** Returns the sources of a row. Undefined: the row carries no usage. */
export function sourcesOfRow({ promptSource, outputSource, formerSource }: SourceColumns): UsageSources | undefined {
  if (formerSource !== null) return sourcesOfFormer(formerSource);
  if (promptSource === null || outputSource === null) return undefined;
  return { promptSource, outputSource } as UsageSources;
}
