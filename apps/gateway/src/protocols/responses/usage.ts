import type { ShownUsage } from '../protocol-adapter.js';
import { renderCost } from '../render-cost.js';

/** Renders token counts. `input_tokens` includes cached tokens; cache writes are not counted separately. */
export function renderUsage(usage: ShownUsage) {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.promptTokens + usage.outputTokens,
    ...renderCost(usage),
  };
}
