import type { ShownUsage } from '../protocol-adapter.js';
import { renderCost } from '../render-cost.js';

/** Renders token counts. `prompt_tokens` includes cached tokens, `completion_tokens` includes reasoning. */
export function renderUsage(usage: ShownUsage) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.promptTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    ...renderCost(usage),
  };
}
