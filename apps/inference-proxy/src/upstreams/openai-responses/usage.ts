import type { Usage } from '#inference/usage.js';
import { isObject, toObject } from '../replies/json-object.js';
import { parseCacheWrites, parseTokenCount, readField, reconciledUsage, type UsageReading } from '../replies/reported-usage.js';

/** Returns the usage of a response that was served in a tier; undefined when it counts nothing. */
export function parseUsage(value: unknown, call: UsageReading, tier?: string): Usage | undefined {
  if (!isObject(value)) return undefined;
  const inputDetails = toObject(readField(value, 'input_tokens_details', 'prompt_tokens_details'));
  const outputDetails = toObject(readField(value, 'output_tokens_details', 'completion_tokens_details'));
  const prompt = readField(value, 'input_tokens', 'prompt_tokens');
  const outputTokens = parseTokenCount(readField(value, 'output_tokens', 'completion_tokens'));
  const cache = {
    cachedTokens: parseTokenCount(inputDetails.cached_tokens ?? value.cache_read_input_tokens),
    ...parseCacheWrites(
      inputDetails.cache_creation_tokens ?? inputDetails.cache_write_tokens ?? value.cache_creation_input_tokens,
      inputDetails.cache_creation_token_details ?? value.cache_creation,
    ),
  };
  const reasoningTokens = parseTokenCount(outputDetails.reasoning_tokens);
  return reconciledUsage(value, { prompt, outputTokens, reasoningTokens, cache, tier }, call);
}
