import type { PromptSize } from './prompt-size.js';
import type { Usage } from './usage.js';

const BYTES_PER_TOKEN = 4;

/**
 * The one estimator: count_tokens, missing usage, broken and aborted streams and the context check all use it
 * (architecture.md, "One estimator"). Images count at their bound.
 */
export function estimatePromptTokens(size: PromptSize, tokensPerImageMax: number): number {
  return Math.max(1, Math.ceil(size.textBytes / BYTES_PER_TOKEN) + size.images * tokensPerImageMax);
}

/** Output received so far, in bytes of UTF-8 text, to tokens. */
export function estimateOutputTokens(textBytes: number): number {
  return Math.ceil(textBytes / BYTES_PER_TOKEN);
}

/** The most bytes of text that are so many tokens by this estimate. */
export function bytesOfTokens(tokens: number): number {
  return tokens * BYTES_PER_TOKEN;
}

/** Usage for a reply whose upstream reported none. */
export function estimateUsage(promptTokens: number, outputBytes: number, reasoningBytes: number): Usage {
  return {
    promptTokens,
    cachedTokens: 0,
    outputTokens: estimateOutputTokens(outputBytes + reasoningBytes),
    reasoningTokens: estimateOutputTokens(reasoningBytes),
    promptSource: 'estimated',
    outputSource: 'counted',
  };
}
