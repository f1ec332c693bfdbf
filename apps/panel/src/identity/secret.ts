import { createHash, randomBytes, randomInt } from 'node:crypto';
import { API_KEY_RANDOM_LENGTH, apiKeyChecksum, BASE62 } from '#contracts/api-key.js';

/** Makes the secret of a session or an invite: 256 random bits in base64url. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the form in which a secret is stored. A slow hash is not needed: the secret cannot be guessed. */
export function computeDigest(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** Prefix of a token, by which scanners of repositories find it. */
const PREFIX = 'tg_adm_';
const TOKEN = new RegExp(`^${PREFIX}[0-9A-Za-z]{${API_KEY_RANDOM_LENGTH}}[0-9A-Za-z]{6}$`);

/** Makes a token from 178 random bits, with the checksum of API keys. */
export function makeToken(): string {
  const random = Array.from({ length: API_KEY_RANDOM_LENGTH }, () => BASE62.charAt(randomInt(BASE62.length))).join('');
  return PREFIX + random + apiKeyChecksum(PREFIX + random);
}

export function isWellFormedToken(token: string): boolean {
  return TOKEN.test(token) && token.slice(-6) === apiKeyChecksum(token.slice(0, -6));
}
