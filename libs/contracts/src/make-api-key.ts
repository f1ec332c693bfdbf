import { randomBytes } from 'node:crypto';
import { API_KEY_PREFIX, API_KEY_RANDOM_LENGTH, apiKeyChecksum, BASE62 } from './api-key.js';

/** Makes an API key from 178 random bits. */
export function makeApiKey(): string {
  const body = API_KEY_PREFIX + randomBase62(API_KEY_RANDOM_LENGTH);
  return body + apiKeyChecksum(body);
}

function randomBase62(length: number): string {
  // Larger bytes would make the first characters of the alphabet more frequent.
  const limit = 256 - (256 % BASE62.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < limit && text.length < length) text += BASE62.charAt(byte % BASE62.length);
    }
  }
  return text;
}
