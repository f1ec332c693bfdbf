import type { Usage } from '#inference/usage.js';
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
  /** Undefined when nothing was counted. */
  usage: Usage | undefined;

  constructor(private readonly call: UpstreamCall) {}

  read(metadata: unknown): void {
    if (!isObject(metadata)) return;
    for (const name of COUNTS) this.counts[name] = Math.max(this.counts[name], parseTokenCount(metadata[name]));
    this.usage = parseUsage(this.counts, this.call);
  }
}

/** Thinking is billed as output and counted beside it, unless the total shows that the output contains it. */
function parseUsage(counts: Counts, call: UpstreamCall): Usage | undefined {
  const { candidatesTokenCount: candidates, thoughtsTokenCount: thoughts, totalTokenCount: total } = counts;
  const prompt = Math.min(TOKENS_MAX, counts.promptTokenCount + counts.toolUsePromptTokenCount);
  const isInside = thoughts <= candidates && total === prompt + candidates;
  const fields = {
    prompt,
    outputTokens: Math.min(TOKENS_MAX, isInside ? candidates : candidates + thoughts),
    reasoningTokens: thoughts,
    cache: { cachedTokens: counts.cachedContentTokenCount, cacheWriteTokens: 0, cacheWrite1hTokens: 0 },
  };
  return reconciledUsage({ total_tokens: total }, fields, call);
}
