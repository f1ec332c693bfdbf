import { createHmac } from 'node:crypto';

/**
 * What is stored of a key: HMAC-SHA-256, under a pepper the database does not have, of the hex SHA-256 the gateway sends.
 * A stolen table is no use for guessing, and an index on it gives nothing away by its timing (billing.md 7).
 */
export function storedDigest(keyDigest: string, pepper: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHmac('sha256', pepper).update(Buffer.from(keyDigest, 'hex')).digest());
}
