import type { TokenUsage, UsageSources } from '#contracts/billing/holds.js';
import { NO_USAGE } from './hold.js';

interface SourceColumns {
  promptSource: string | null;
  outputSource: string | null;
}

/** Returns the sources of a row. Undefined: the row carries no usage. */
export function toUsageSources({ promptSource, outputSource }: SourceColumns): UsageSources | undefined {
  if (promptSource === null || outputSource === null) return undefined;
  return { promptSource, outputSource } as UsageSources;
}

/** Tokens of a journal row, in the form of Prisma. */
interface UsageColumns extends SourceColumns {
  promptTokens: number;
  cachedTokens: number;
  /** Null: none, as the next one. */
  cacheWriteTokens: number | null;
  cacheWrite1hTokens: number | null;
  outputTokens: number;
  reasoningTokens: number;
}

/** Returns the usage of a row; `NO_USAGE` when it carries none. */
export function toUsage(row: UsageColumns): TokenUsage {
  const { promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, outputTokens, reasoningTokens } = row;
  const sources = toUsageSources(row);
  if (!sources) return NO_USAGE;
  return {
    promptTokens,
    cachedTokens,
    ...(cacheWriteTokens !== null && { cacheWriteTokens }),
    ...(cacheWrite1hTokens !== null && { cacheWrite1hTokens }),
    outputTokens,
    reasoningTokens,
    ...sources,
  };
}
