import type { Usage } from '#inference/usage.js';

export interface MessageUsage {
  input_tokens: number;
  cache_creation_input_tokens: 0;
  cache_read_input_tokens: number;
  output_tokens: number;
}

/** Renders token counts. `input_tokens` excludes cached tokens, unlike in the other formats. */
export function renderUsage({ promptTokens, cachedTokens, outputTokens }: Usage): MessageUsage {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
  };
}
