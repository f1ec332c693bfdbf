import type { TokenUsage, UsageSources } from '#contracts/billing/holds.js';
import { NO_USAGE } from '../batch/hold.js';

/** Tokens of a journal row, in the form of Prisma. */
export interface UsageColumns {
  promptTokens: number;
  cachedTokens: number;
  /** Null: none, as the next one. */
  cacheWriteTokens: number | null;
  cacheWrite1hTokens: number | null;
  tier: string | null;
  quantity: number | null;
  outputTokens: number;
  reasoningTokens: number;
  /** Null: the row carries no usage, as the next one. */
  promptSource: string | null;
  outputSource: string | null;
}

/** Returns the usage of a row; `NO_USAGE` when it carries none. */
export function toUsage(row: UsageColumns): TokenUsage {
  const { promptTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, tier, quantity, outputTokens, reasoningTokens } = row;
  const { promptSource, outputSource } = row;
  if (promptSource === null || outputSource === null) return NO_USAGE;
  return {
    promptTokens,
    cachedTokens,
    ...(cacheWriteTokens !== null && { cacheWriteTokens }),
    ...(cacheWrite1hTokens !== null && { cacheWrite1hTokens }),
    ...(tier !== null && { tier }),
    ...(quantity !== null && { quantity }),
    outputTokens,
    reasoningTokens,
    ...({ promptSource, outputSource } as UsageSources),
  };
}
