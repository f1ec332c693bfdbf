import { servedTier, type Usage } from '#inference/usage.js';
import { isObject, toObject } from '../replies/json-object.js';
import { parseCacheWrites, parseTokenCount, reconciledUsage } from '../replies/reported-usage.js';
import type { UpstreamCall } from '../upstream-adapter.js';

type Json = Record<string, unknown>;

/** Returns the usage of a reply, or of the metadata of a stream; undefined when it counts nothing. */
export function parseUsage({ usage, serviceTier }: Json, call: UpstreamCall): Usage | undefined {
  if (!isObject(usage)) return undefined;
  const { inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens, cacheDetails } = usage;
  const fields = {
    prompt: inputTokens,
    outputTokens: parseTokenCount(outputTokens),
    reasoningTokens: 0, // counted among the output
    cache: {
      cachedTokens: parseTokenCount(cacheReadInputTokens),
      ...parseCacheWrites(cacheWriteInputTokens, readLifetimes(cacheDetails, cacheWriteInputTokens, call)),
    },
    tier: servedTier(toObject(serviceTier).type),
  };
  const { cachedApart } = call.capabilities;
  return reconciledUsage({ total_tokens: totalTokens }, fields, { ...call, capabilities: { cachedApart: cachedApart ?? true } });
}

/** Returns the tokens written to the cache by their lifetime. Without details it is the one that was asked for. */
function readLifetimes(details: unknown, written: unknown, { capabilities }: UpstreamCall): Json {
  const entries = Array.isArray(details) ? details.filter(isObject) : [];
  const count = (lifetime: string): unknown => entries.find(({ ttl }) => ttl === lifetime)?.inputTokens;
  const isUnsaid = entries.length === 0 && capabilities.promptCache === '1h';
  return { ephemeral_5m_input_tokens: count('5m'), ephemeral_1h_input_tokens: isUnsaid ? written : count('1h') };
}
