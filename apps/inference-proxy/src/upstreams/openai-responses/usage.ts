import type { Usage } from '#inference/usage.js';
import { isObject } from '../replies/json-object.js';
import { parseTokenCount } from '../replies/token-count.js';

/** Returns the usage of a response; undefined when it counts nothing. Details are brought within the totals that contain them. */
export function parseUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const promptTokens = parseTokenCount(value.input_tokens);
  const outputTokens = parseTokenCount(value.output_tokens);
  if (promptTokens === 0 && outputTokens === 0) return undefined;
  const inputDetails = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const outputDetails = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  return {
    promptTokens,
    cachedTokens: Math.min(parseTokenCount(inputDetails.cached_tokens), promptTokens),
    outputTokens,
    reasoningTokens: Math.min(parseTokenCount(outputDetails.reasoning_tokens), outputTokens),
    promptSource: 'reported',
    outputSource: 'reported',
  };
}
