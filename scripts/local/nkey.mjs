/** Keys of NATS users in the form of NATS (NKeys): Ed25519 in base32, with a prefix and a checksum. Needs no package. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** Prefixes: `SU…` is the seed of a user, `U…` its public key. */
const SEED = Buffer.of(0x95, 0x00);
const PUBLIC_KEY = Buffer.of(0xa0);
/** An Ed25519 key in PKCS #8 (RFC 8410) is these bytes and the 32 of the key. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const KEY_BYTES = 32;

/** Returns a new seed, which is secret. */
export function createSeed() {
  const { d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return encode(SEED, Buffer.from(d ?? '', 'base64url'));
}

/**
 * Returns the public key of a seed. @throws {Error} for a text that is no seed of a user.
 * @param {string} seed
 */
export function derivePublicKey(seed) {
  const key = decode(seed).subarray(SEED.length, SEED.length + KEY_BYTES);
  if (encode(SEED, key) !== seed) throw new Error('not the seed of a NATS user');
  const { x } = createPrivateKey({ key: Buffer.concat([PKCS8, key]), format: 'der', type: 'pkcs8' }).export({ format: 'jwk' });
  return encode(PUBLIC_KEY, Buffer.from(x ?? '', 'base64url'));
}

/** @param {Buffer} prefix @param {Buffer} key */
function encode(prefix, key) {
  const content = Buffer.concat([prefix, key]);
  const bits = [...content, ...checksum(content)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.replace(/.{1,5}/g, (group) => ALPHABET.charAt(Number.parseInt(group.padEnd(5, '0'), 2)));
}

/** @param {string} text */
function decode(text) {
  const bits = [...text].map((letter) => Math.max(0, ALPHABET.indexOf(letter)).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/**
 * CRC-16/XMODEM, least significant byte first.
 * @param {Buffer} bytes
 */
function checksum(bytes) {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return [crc & 0xff, crc >> 8];
}
