import { createHmac } from 'node:crypto';

/**
 * Returns the stored form of a key: HMAC-SHA-256, under a pepper that the database does not have, of the hex SHA-256 that the gateway
 * sends. A stolen table does not help to guess keys, and lookups by index reveal nothing by their timing.
 */
export function storedDigest(keyDigest: string, pepper: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHmac('sha256', pepper).update(Buffer.from(keyDigest, 'hex')).digest());
}
