import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { sha256 } from './merkle-tree.js';

/** Before the seed of an Ed25519 key in PKCS #8, and before the 32 bytes of a public one in SubjectPublicKeyInfo (RFC 8410). */
const PRIVATE = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC = Buffer.from('302a300506032b6570032100', 'hex');

/** Before the secret, from which the seed of the key is derived. */
const PURPOSE = Buffer.from('tollgate receipts\n');

/** The key with which an installation signs its months. */
export class SigningKey {
  /** `#private`, because loggers write every own property of an object. */
  readonly #private: KeyObject;
  /** In hexadecimal digits, as it is published. */
  readonly publicKey: string;
  readonly id: string;

  /** The same secret gives the same key. */
  constructor(secret: string) {
    this.#private = createPrivateKey({ key: Buffer.concat([PRIVATE, sha256(PURPOSE, Buffer.from(secret))]), format: 'der', type: 'pkcs8' });
    this.publicKey = createPublicKey(this.#private).export({ format: 'der', type: 'spki' }).subarray(PUBLIC.length).toString('hex');
    this.id = computeKeyId(this.publicKey);
  }

  sign(line: string): string {
    return sign(null, Buffer.from(line), this.#private).toString('hex');
  }
}

/** Returns the first 16 digits of the SHA-256 of a public key, so that nobody can give a key the id of another one. */
export function computeKeyId(publicKey: string): string {
  return sha256(Buffer.from(publicKey, 'hex')).toString('hex').slice(0, 16);
}

export function isSignedBy(publicKey: string, line: string | Uint8Array, signature: string): boolean {
  const key = createPublicKey({ key: Buffer.concat([PUBLIC, Buffer.from(publicKey, 'hex')]), format: 'der', type: 'spki' });
  return verify(null, typeof line === 'string' ? Buffer.from(line) : line, key, Buffer.from(signature, 'hex'));
}
