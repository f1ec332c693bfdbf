import { createHash, randomBytes } from 'node:crypto';

/** Makes the secret of a session or an invite: 256 random bits in base64url. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the form in which a secret is stored. A slow hash is not needed: the secret cannot be guessed. */
export function computeDigest(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}
