import { createHmac } from 'node:crypto';
import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/**
 * Returns the key of an account's cache at an upstream: 43 characters of base64url. A client separates its requests further by a key of its
 * own. It cannot choose the result, and who does not have the upstream's API key cannot compute it.
 */
export function deriveCacheKey({ accountId, baseUrl }: UpstreamCall, clientKey: string | undefined, apiKey = ''): string {
  const subject = JSON.stringify([baseUrl, accountId, clientKey ?? null]);
  const name = `${apiKey}\n${subject}`;
  let key = recentKeys.get(name);
  if (key === undefined) {
    key = createHmac('sha256', apiKey).update(subject).digest('base64url');
    if (recentKeys.size >= RECENT_KEYS_MAX) recentKeys.clear();
    recentKeys.set(name, key);
  }
  return key;
}

/** Keys of late, because a digest takes as long as the rest of a short body. Some 300 kB. */
const recentKeys = new Map<string, string>();
const RECENT_KEYS_MAX = 1_000;

/** Returns the field that keeps the caches of accounts apart at an OpenAI upstream. `byDefault`: that of the dialect. */
export function renderCacheKey(
  call: UpstreamCall,
  byDefault: NonNullable<UpstreamCapabilities['cacheKey']>,
  apiKey: string | undefined,
): Record<string, string> {
  const field = call.capabilities.cacheKey ?? byDefault;
  return field === 'none' ? {} : { [field]: deriveCacheKey(call, call.request.cacheKey, apiKey) };
}
