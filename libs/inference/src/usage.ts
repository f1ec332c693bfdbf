/** Origin of a prompt count: `reported` by the upstream, or `estimated` from the prompt size. */
export const PROMPT_SOURCES = ['reported', 'estimated'] as const;
export type PromptSource = (typeof PROMPT_SOURCES)[number];

/**
 * Origin of an output count: `reported` by the upstream, `counted` from the received text (`estimateOutputTokens`), or `floor`: counted,
 * plus a floor for output that the upstream hides and did not report.
 */
export const OUTPUT_SOURCES = ['reported', 'counted', 'floor'] as const;
export type OutputSource = (typeof OUTPUT_SOURCES)[number];

/** A tier of service as an upstream names it. */
export const TIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
/** Names of the tier without a name, which has the usual prices. `auto` is what was asked for, not what was served. */
export const USUAL_TIERS: readonly string[] = ['default', 'standard', 'auto'];

/** Returns the tier that an upstream says it served; undefined for the usual one, and for what is no name. */
export function servedTier(value: unknown): string | undefined {
  return typeof value === 'string' && TIER.test(value) && !USUAL_TIERS.includes(value) ? value : undefined;
}

/**
 * Tokens that a request used. `promptTokens` include those read from and written to the upstream's cache, `outputTokens` include
 * `reasoningTokens`.
 */
export interface Usage extends PromptUsage {
  outputTokens: number;
  reasoningTokens: number;
  /** Origin of the prompt tokens, those of the cache included. */
  promptSource: PromptSource;
  /** Origin of the output tokens, reasoning included. */
  outputSource: OutputSource;
}

/** Tokens of a prompt, and the parts of them that the upstream's cache had or got. The parts together are at most the prompt. */
export interface PromptUsage {
  promptTokens: number;
  /** Read from the cache. */
  cachedTokens: number;
  /** Written to the cache for 5 minutes. Absent: none. */
  cacheWriteTokens?: number;
  /** Written to the cache for an hour. Absent: none. */
  cacheWrite1hTokens?: number;
  /** Tier that the upstream says it served (`servedTier`): it prices all tokens. Absent: its usual one. */
  tier?: string;
}

/** Returns the counts of a prompt with its parts brought within it, whatever the upstream reported. Parts of no tokens are absent. */
export function promptUsage({ promptTokens, cachedTokens, cacheWriteTokens = 0, cacheWrite1hTokens = 0, tier }: PromptUsage): PromptUsage {
  const cached = Math.min(cachedTokens, promptTokens);
  const written = Math.min(cacheWriteTokens, promptTokens - cached);
  const written1h = Math.min(cacheWrite1hTokens, promptTokens - cached - written);
  return {
    promptTokens,
    cachedTokens: cached,
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(written1h > 0 && { cacheWrite1hTokens: written1h }),
    ...(tier !== undefined && { tier }),
  };
}

/** Usage of a request that has used nothing so far. */
export const NO_USAGE: Readonly<Usage> = {
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  promptSource: 'estimated',
  outputSource: 'counted',
};
