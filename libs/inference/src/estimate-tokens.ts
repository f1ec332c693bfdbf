import type { PromptSize } from './prompt-size.js';
import type { Usage } from './usage.js';

const BYTES_PER_TOKEN = 4;

/**
 * Estimates the tokens of a prompt; images count at their bound. `count_tokens`, the context check and the bill of a reply without
 * reported usage all use this estimate, so that they agree.
 */
export function estimatePromptTokens(size: PromptSize, tokensPerImageMax: number): number {
  return Math.max(1, Math.ceil(size.textBytes / BYTES_PER_TOKEN) + size.images * tokensPerImageMax);
}

/** Estimates the tokens of received output, from bytes of UTF-8 text. */
export function estimateOutputTokens(textBytes: number): number {
  return Math.ceil(textBytes / BYTES_PER_TOKEN);
}

/** The most bytes of text that are `tokens` by this estimate. */
export function bytesOfTokens(tokens: number): number {
  return tokens * BYTES_PER_TOKEN;
}

/** Usage of a reply whose upstream reported none. */
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
