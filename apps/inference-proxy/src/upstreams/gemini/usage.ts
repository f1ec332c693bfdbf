import { servedTier, type Usage } from '#inference/usage.js';
import { isObject } from '../replies/json-object.js';
import { parseTokenCount, reconciledUsage, TOKENS_MAX } from '../replies/reported-usage.js';
import type { UpstreamCall } from '../upstream-adapter.js';

const COUNTS = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'cachedContentTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
] as const;
type Counts = Record<(typeof COUNTS)[number], number>;

/**
 * Collects the `usageMetadata` of one reply. Counts are cumulative, and a chunk may leave some of them out: of each, the highest is the last.
 */
export class UsageCounter {
  private readonly counts: Counts = {
    promptTokenCount: 0,
    toolUsePromptTokenCount: 0,
    cachedContentTokenCount: 0,
    candidatesTokenCount: 0,
    thoughtsTokenCount: 0,
    totalTokenCount: 0,
  };
  private tier: string | undefined;
  /** Undefined when nothing was counted. */
  usage: Usage | undefined;

  constructor(private readonly call: UpstreamCall) {}

  read(metadata: unknown): void {
    if (!isObject(metadata)) return;
    for (const name of COUNTS) this.counts[name] = Math.max(this.counts[name], parseTokenCount(metadata[name]));
    const { trafficType, serviceTier } = metadata;
    for (const named of [trafficType, serviceTier]) if (typeof named === 'string') this.tier = parseTier(named);
    this.usage = parseUsage(this.counts, this.tier, this.call);
  }
}

/** Google's words around the name of a tier: `SERVICE_TIER_FLEX`, and `ON_DEMAND_FLEX` of Vertex AI, whose usual one is `ON_DEMAND`. */
const TIER_WORDS = /^(service_tier|traffic_type|on_demand)(_|$)/;

/** Returns the tier as `service_tier` of a request names it, such as `flex`; undefined for the usual one. */
function parseTier(named: string): string | undefined {
  const tier = named.toLowerCase().replace(TIER_WORDS, '');
  return tier === 'unspecified' ? undefined : servedTier(tier);
}

/** Thinking is billed as output and counted beside it, unless the total shows that the output contains it. */
function parseUsage(counts: Counts, tier: string | undefined, call: UpstreamCall): Usage | undefined {
  const { candidatesTokenCount: candidates, thoughtsTokenCount: thoughts, totalTokenCount: total } = counts;
  const prompt = Math.min(TOKENS_MAX, counts.promptTokenCount + counts.toolUsePromptTokenCount);
  const isInside = thoughts <= candidates && total === prompt + candidates;
  const fields = {
    prompt,
    outputTokens: Math.min(TOKENS_MAX, isInside ? candidates : candidates + thoughts),
    reasoningTokens: thoughts,
    cache: { cachedTokens: counts.cachedContentTokenCount, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
    tier,
  };
  return reconciledUsage({ total_tokens: total }, fields, call);
}
