import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const API_KEY_PREFIX = 'tg_live_';
export const API_KEY_RANDOM_LENGTH = 30;
export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const CHECKSUM_LENGTH = 6;
const API_KEY = new RegExp(`^${API_KEY_PREFIX}[0-9A-Za-z]{${API_KEY_RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/**
 * True for a well-formed key: `tg_live_`, 30 random base62 characters and their checksum of 6. Finds typing errors without a request to
 * billing.
 */
export function isWellFormedApiKey(key: string): boolean {
  return API_KEY.test(key) && key.slice(-CHECKSUM_LENGTH) === apiKeyChecksum(key.slice(0, -CHECKSUM_LENGTH));
}

/** Returns the hex SHA-256 of the whole key, which services send instead of the key. */
export function digestApiKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** Returns the last six characters of the key that begins with `body`: its CRC-32 in base62. */
export function apiKeyChecksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    text = BASE62.charAt(rest % BASE62.length) + text;
    rest = Math.floor(rest / BASE62.length);
  }
  return text;
}
