import type { Usage } from '#inference/usage.js';
import { isObject, toObject } from '../replies/json-object.js';
import { parseCacheWrites, parseTokenCount, readField, reconciledUsage, type UsageReading } from '../replies/reported-usage.js';

/**
 * Returns the usage of a chunk or reply that was served in a tier; undefined when it counts nothing. Servers name cached, written and reasoning tokens in several
 * ways.
 */
export function parseUsage(value: unknown, call: UsageReading, tier?: string): Usage | undefined {
  if (!isObject(value)) return undefined;
  const outputTokens = parseTokenCount(readField(value, 'completion_tokens', 'output_tokens'));
  const promptDetails = toObject(readField(value, 'prompt_tokens_details', 'input_tokens_details'));
  const outputDetails = toObject(readField(value, 'completion_tokens_details', 'output_tokens_details'));
  const cachedTokens = parseTokenCount(
    promptDetails.cached_tokens ?? value.prompt_cache_hit_tokens ?? value.cached_tokens ?? value.cache_read_input_tokens,
  );
  const writes = parseCacheWrites(
    promptDetails.cache_creation_tokens ?? promptDetails.cache_write_tokens ?? value.cache_creation_input_tokens,
    promptDetails.cache_creation_token_details ?? value.cache_creation,
  );
  const reasoningTokens = parseTokenCount(outputDetails.reasoning_tokens ?? value.reasoning_tokens);
  const fields = {
    prompt: readField(value, 'prompt_tokens', 'input_tokens'),
    outputTokens,
    reasoningTokens,
    cache: { cachedTokens, ...writes },
    tier,
  };
  const usage = reconciledUsage(value, fields, call);
  return usage?.promptTokens === 0 && outputTokens === 0 ? undefined : usage; // reasoning alone is no usage
}
