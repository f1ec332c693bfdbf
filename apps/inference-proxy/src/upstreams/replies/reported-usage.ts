import type { Usage } from '#inference/usage.js';

/** Largest count the contracts carry; no reply comes near it. */
export const TOKENS_MAX = 2 ** 31 - 1;

/** Returns the count an upstream gave; 0 for anything that is not a positive number. */
export function parseTokenCount(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(TOKENS_MAX, Math.trunc(value)) : 0;
}

/** Returns the usage of these counts; undefined when nothing was counted. Details are brought within the totals that contain them. */
export function reportedUsage(counts: Omit<Usage, 'promptSource' | 'outputSource'>): Usage | undefined {
  const { promptTokens, cachedTokens, outputTokens, reasoningTokens } = counts;
  if (promptTokens === 0 && outputTokens === 0) return undefined;
  return {
    promptTokens,
    cachedTokens: Math.min(cachedTokens, promptTokens),
    outputTokens,
    reasoningTokens: Math.min(reasoningTokens, outputTokens),
    promptSource: 'reported',
    outputSource: 'reported',
  };
}
