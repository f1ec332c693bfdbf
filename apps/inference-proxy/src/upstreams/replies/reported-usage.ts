import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { Usage } from '#inference/usage.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/** Largest count the contracts carry; no reply comes near it. */
export const TOKENS_MAX = 2 ** 31 - 1;

/** Returns the count an upstream gave, as a number or in digits; 0 for anything that is not positive. */
export function parseTokenCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && count > 0 ? Math.min(TOKENS_MAX, Math.trunc(count)) : 0;
}

/** Parts of a call that decide how its usage is read. */
export type UsageReading = Pick<UpstreamCall, 'onOddity' | 'outputTokensMax'> & { capabilities: Pick<UpstreamCapabilities, 'cachedApart'> };

interface CountedParts {
  promptTokens: number;
  cachedTokens: number;
  /** Tokens written to the cache. */
  writtenTokens: number;
  outputTokens: number;
}

/** Returns the first field that is there: servers mix the names of the dialects. */
export function fieldOf(usage: Record<string, unknown>, ...names: readonly string[]): unknown {
  for (const name of names) if (usage[name] !== undefined && usage[name] !== null) return usage[name];
  return undefined;
}

/** Returns the prompt; where a server leaves it out beside a total, what the total has besides the output. */
export function promptOrRest(prompt: unknown, outputTokens: number, total: unknown): number {
  return parseTokenCount(prompt) || (outputTokens > 0 ? Math.max(0, parseTokenCount(total) - outputTokens) : 0);
}

/** Returns the tokens of the prompt where servers count those of the cache among them, unless the catalog says that this one does not. */
export function promptWithin(
  promptTokens: number,
  { cachedTokens, writtenTokens }: Pick<CountedParts, 'cachedTokens' | 'writtenTokens'>,
  { capabilities }: UsageReading,
): number {
  return capabilities.cachedApart ? Math.min(TOKENS_MAX, promptTokens + cachedTokens + writtenTokens) : promptTokens;
}

/**
 * Returns the output that a total contains. Some servers leave thinking out of the output, so that it stands in the total alone. Tokens of
 * the cache that the prompt leaves out are no output, and neither is more than the cap of the call: such a total counts something else.
 */
export function outputWithin(
  total: unknown,
  { promptTokens, cachedTokens, writtenTokens, outputTokens }: CountedParts,
  { onOddity, outputTokensMax }: UsageReading,
): number {
  const missing = parseTokenCount(total) - promptTokens - outputTokens;
  if (promptTokens === 0 || missing <= 0) return outputTokens;
  if ([cachedTokens, writtenTokens, cachedTokens + writtenTokens].includes(missing)) return outputTokens;
  onOddity?.({ kind: 'contradictory-usage', detail: `${promptTokens} + ${outputTokens} tokens, ${parseTokenCount(total)} in total` });
  return outputTokens + missing > outputTokensMax ? outputTokens : outputTokens + missing;
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
