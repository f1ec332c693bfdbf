import type { ShownUsage } from '../protocol-adapter.js';
import { renderCost } from '../render-cost.js';

export interface MessageUsage {
  input_tokens: number;
  cache_creation_input_tokens: 0;
  cache_read_input_tokens: number;
  output_tokens: number;
  cost?: object;
}

/** Renders token counts. `input_tokens` excludes cached tokens, unlike in the other formats. */
export function renderUsage(usage: ShownUsage): MessageUsage {
  const { promptTokens, cachedTokens, outputTokens } = usage;
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    ...renderCost(usage),
  };
}
