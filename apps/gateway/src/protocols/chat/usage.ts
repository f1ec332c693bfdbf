import type { Usage } from '#inference/usage.js';

/** Renders token counts. `prompt_tokens` includes cached tokens, `completion_tokens` includes reasoning. */
export function renderUsage(usage: Usage) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.promptTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
