import { createHmac } from 'node:crypto';
import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { UpstreamCall } from '../upstream-adapter.js';

/**
 * Returns the key of an account's cache at an upstream: 43 characters of base64url. A client separates its requests further by a key of its
 * own. It cannot choose the result, and who does not have the upstream's API key cannot compute it.
 */
export function cacheKeyOf({ accountId, baseUrl }: UpstreamCall, clientKey: string | undefined, apiKey = ''): string {
  const subject = JSON.stringify([baseUrl, accountId, clientKey ?? null]);
  return createHmac('sha256', apiKey).update(subject).digest('base64url');
}

/** Returns the field that keeps the caches of accounts apart at an OpenAI upstream. `byDefault`: that of the dialect. */
export function renderCacheKey(
  call: UpstreamCall,
  byDefault: NonNullable<UpstreamCapabilities['cacheKey']>,
  apiKey: string | undefined,
): Record<string, string> {
  const field = call.capabilities.cacheKey ?? byDefault;
  return field === 'none' ? {} : { [field]: cacheKeyOf(call, call.request.cacheKey, apiKey) };
}
