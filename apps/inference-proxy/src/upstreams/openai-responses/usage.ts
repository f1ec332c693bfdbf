import type { Usage } from '#inference/usage.js';
import { isObject } from '../replies/json-object.js';
import { parseTokenCount, reportedUsage } from '../replies/reported-usage.js';

/** Returns the usage of a response; undefined when it counts nothing. */
export function parseUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const inputDetails = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const outputDetails = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  return reportedUsage({
    promptTokens: parseTokenCount(value.input_tokens),
    cachedTokens: parseTokenCount(inputDetails.cached_tokens),
    outputTokens: parseTokenCount(value.output_tokens),
    reasoningTokens: parseTokenCount(outputDetails.reasoning_tokens),
  });
}
