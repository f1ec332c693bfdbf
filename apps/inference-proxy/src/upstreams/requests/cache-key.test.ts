import { createHmac } from 'node:crypto';
import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { makeCall, sent } from '../../../test/conformance.js';
import { ADAPTERS } from '../adapters.js';

type Kind = keyof typeof ADAPTERS;

const ACCOUNT = '0190a6f0-7c1e-7000-8000-00000000000a';
const OTHER = '0190a6f0-7c1e-7000-8000-00000000000b';

/** Returns the fields of a body that name a cache. */
function deriveKeys(
  kind: Kind,
  cacheKey: UpstreamCapabilities['cacheKey'] | undefined,
  { accountId = ACCOUNT, own, apiKey = 'upstream-key' }: { accountId?: string; own?: string; apiKey?: string } = {},
): Record<string, unknown> {
  const call = makeCall(true, { cacheKey: own }, cacheKey === undefined ? {} : { cacheKey });
  const { prompt_cache_key, cache_salt } = sent(ADAPTERS[kind].renderRequest({ ...call, accountId }, apiKey));
  return { prompt_cache_key, cache_salt };
}

const DIGEST = expect.stringMatching(/^[\w-]{43}$/);

test.each<[Kind, UpstreamCapabilities['cacheKey'] | undefined, object]>([
  ['openai-chat', undefined, {}],
  ['openai-chat', 'none', {}],
  ['openai-chat', 'prompt_cache_key', { prompt_cache_key: DIGEST }],
  ['openai-chat', 'cache_salt', { cache_salt: DIGEST }],
  ['openai-responses', undefined, { prompt_cache_key: DIGEST }],
  ['openai-responses', 'none', {}],
  ['openai-responses', 'cache_salt', { cache_salt: DIGEST }],
  ['anthropic-messages', undefined, {}],
])('%s with cacheKey %s [cache-apart]', (kind, cacheKey, expected) => {
  expect(deriveKeys(kind, cacheKey)).toEqual(expected);
});

test.each(['openai-chat', 'openai-responses'] as const)(
  '%s: accounts, and the keys of one client, have caches of their own [cache-apart]',
  (kind) => {
    const field = (over: Parameters<typeof deriveKeys>[2]): unknown => deriveKeys(kind, 'prompt_cache_key', over).prompt_cache_key;
    const keys = [{}, { own: 'a' }, { own: 'b' }, { accountId: OTHER }, { accountId: OTHER, own: 'a' }].map(field);
    expect(new Set(keys).size).toBe(5);
    expect(field({ own: 'a' })).toBe(keys[1]);
  },
);

test('a client cannot name the cache of another account, and the account cannot be guessed from its key', () => {
  const { prompt_cache_key: key } = deriveKeys('openai-chat', 'prompt_cache_key');
  const stolen = deriveKeys('openai-chat', 'prompt_cache_key', { accountId: OTHER, own: String(key) });
  const unkeyed = createHmac('sha256', '')
    .update(JSON.stringify(['http://10.1.2.3:8000/v1', ACCOUNT, null]))
    .digest('base64url');
  expect([stolen.prompt_cache_key, unkeyed]).not.toContain(key);
});
