import type { Usage } from '#inference/usage.js';
import { isObject } from '../replies/json-object.js';
import { outputWithin, parseTokenCount, promptWithin, reportedUsage, TOKENS_MAX, type UsageReading } from '../replies/reported-usage.js';

/** Returns the usage of a response; undefined when it counts nothing. */
export function parseUsage(value: unknown, call: UsageReading): Usage | undefined {
  if (!isObject(value)) return undefined;
  const inputDetails = isObject(value.input_tokens_details) ? value.input_tokens_details : {};
  const outputDetails = isObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const cache = {
    cachedTokens: parseTokenCount(inputDetails.cached_tokens),
    writtenTokens: parseTokenCount(inputDetails.cache_creation_tokens ?? inputDetails.cache_write_tokens),
  };
  const counted = {
    ...cache,
    promptTokens: promptWithin(parseTokenCount(value.input_tokens), cache, call),
    outputTokens: parseTokenCount(value.output_tokens),
  };
  const outputTokens = Math.min(TOKENS_MAX, outputWithin(value.total_tokens, counted, call));
  const reasoningTokens = Math.max(parseTokenCount(outputDetails.reasoning_tokens), outputTokens - counted.outputTokens);
  const { promptTokens, cachedTokens } = counted;
  return reportedUsage({ promptTokens, cachedTokens, outputTokens, reasoningTokens });
}
