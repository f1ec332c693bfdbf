import { createHash } from 'node:crypto';
import type { ChatRequest } from '../chat-request.js';
import { CACHED_TOKENS_MIN, type Prefix } from '../prompt-cache.js';
import { BYTES_PER_TOKEN, promptTexts, TOKENS_PER_IMAGE } from './usage-rule.js';

const STEP_TOKENS = 128;
/** Never part of UTF-8: no text can end another one. */
const BORDER = Buffer.from([0xff]);

/**
 * The prefixes that servers of OpenAI's dialects cache without being asked: the least that is cached, then one a step. Requests share
 * them if model, key and salt are the same.
 */
export function promptPrefixes(request: ChatRequest): Prefix[] {
  const { model, prompt_cache_key: cacheKey = null, cache_salt: salt = null } = request;
  const hash = createHash('sha256').update(JSON.stringify([model, cacheKey, salt]));
  const prefixes: Prefix[] = [];
  let start = 0;
  let next = CACHED_TOKENS_MIN;
  for (const { kind, text, tokens } of promptTexts(request)) {
    const bytes = kind === 'image' ? imageBytes(text) : Buffer.from(text);
    hash.update(BORDER).update(kind).update(BORDER);
    let hashed = 0;
    for (; next <= start + tokens; next += STEP_TOKENS) {
      const end = (next - start) * BYTES_PER_TOKEN;
      hash.update(bytes.subarray(hashed, end));
      hashed = end;
      prefixes.push({ key: hash.copy().digest('base64'), marker: { tokens: next, ttl: '5m' } });
    }
    hash.update(bytes.subarray(hashed));
    start += tokens;
  }
  return prefixes;
}

/** As many bytes as an image has tokens, each of which follows from all of the image. */
function imageBytes(url: string): Buffer {
  const digest = createHash('sha256').update(url).digest();
  return Buffer.alloc(TOKENS_PER_IMAGE * BYTES_PER_TOKEN, digest);
}
