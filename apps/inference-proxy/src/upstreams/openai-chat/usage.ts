import type { Usage } from '#inference/usage.js';
import { isObject, objectOf } from '../replies/json-object.js';
import {
  countsCacheApart,
  fieldOf,
  outputWithin,
  parseCacheWrites,
  parseTokenCount,
  promptOf,
  reportedUsage,
  TOKENS_MAX,
  type UsageReading,
  withReasoning,
} from '../replies/reported-usage.js';

/**
 * Returns the usage of a chunk or reply; undefined when it counts nothing. Servers name cached, written and reasoning tokens in several
 * ways.
 */
export function parseUsage(value: unknown, call: UsageReading): Usage | undefined {
  if (!isObject(value)) return undefined;
  const completionTokens = parseTokenCount(fieldOf(value, 'completion_tokens', 'output_tokens'));
  const promptDetails = objectOf(fieldOf(value, 'prompt_tokens_details', 'input_tokens_details'));
  const outputDetails = objectOf(fieldOf(value, 'completion_tokens_details', 'output_tokens_details'));
  const cachedTokens = parseTokenCount(
    promptDetails.cached_tokens ?? value.prompt_cache_hit_tokens ?? value.cached_tokens ?? value.cache_read_input_tokens,
  );
  const writes = parseCacheWrites(
    promptDetails.cache_creation_tokens ?? promptDetails.cache_write_tokens ?? value.cache_creation_input_tokens,
    promptDetails.cache_creation_token_details ?? value.cache_creation,
  );
  const reasoning = parseTokenCount(outputDetails.reasoning_tokens ?? value.reasoning_tokens);
  const promptTokens = promptOf(
    {
      prompt: fieldOf(value, 'prompt_tokens', 'input_tokens'),
      cacheApart: countsCacheApart(value, call),
      outputTokens: completionTokens,
      reasoningTokens: reasoning,
      total: value.total_tokens,
    },
    { cachedTokens, ...writes },
  );
  if (promptTokens === 0 && completionTokens === 0) return undefined;
  const counted = {
    promptTokens,
    cachedTokens,
    ...writes,
    outputTokens: withReasoning(completionTokens, reasoning, promptTokens, value.total_tokens),
  };
  const outputTokens = Math.min(TOKENS_MAX, outputWithin(value.total_tokens, counted, call));
  return reportedUsage({ ...counted, outputTokens, reasoningTokens: Math.max(reasoning, outputTokens - completionTokens) });
}
