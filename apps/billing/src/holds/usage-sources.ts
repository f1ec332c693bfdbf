import type { TokenUsage } from '#contracts/billing/holds.js';

export type UsageSources = Pick<TokenUsage, 'promptSource' | 'outputSource'>;

/** Sources of counts that no upstream is known to have reported. */
export const NO_SOURCES: Readonly<UsageSources> = { promptSource: 'estimated', outputSource: 'counted' };

/** Sources in a row of the database. `formerSource` is set only where a version before the two columns wrote the row last. */
export interface SourceColumns {
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

/**
 * Returns the meaning of the one word that stood for both counts before each had a source of its own: in rows of the database, and,
 * until the next version, in the field `source` of an older gateway or inference-proxy.
 */
export function sourcesOfFormer(source: unknown): UsageSources | undefined {
  if (source === 'reported') return { promptSource: 'reported', outputSource: 'reported' };
  return source === 'estimated' ? NO_SOURCES : undefined;
}
