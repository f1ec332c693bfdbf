import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { CHILD_DEPTH_MAX, CHILD_PATH, listChain, readChildEnd } from '../rules/child-path.js';

export const CHILD_KEY_PREFIX = 'tg_child_';
/** Characters of a child key: with it the headers of a request stay within what the gateway reads. */
export const CHILD_KEY_LENGTH_MAX = 4_000;

/** Limits that one child key of a chain adds to those of the key and child keys above it. */
export interface ChildLevel {
  /** Id of the child key with its chain: see `CHILD_PATH`. */
  path: string;
  /** The most that it and all below it may cost, in pico-USD. */
  limitPicoUsd: string;
  /** Patterns of models. Absent: those that are allowed above. */
  models?: string[];
  /** Addresses and networks. Absent: those that are allowed above. */
  networks?: string[];
  /** Tags of its requests, by name. Absent: those from above. */
  tags?: Record<string, string>;
}

/** A child key as it was sent, before its signature is checked. */
export interface SentChildKey {
  /** The key at the top of the chain. */
  keyId: string;
  /** From the key down. */
  levels: ChildLevel[];
  /** The text that is signed, and its signature. */
  signed: string;
  signature: Buffer;
}

/** The signed part, in short names: every request carries it. */
interface Payload {
  k: string;
  c: { i: string; b: string; m?: string[]; n?: string[]; t?: Record<string, string> }[];
}

const FORM = new RegExp(`^(${CHILD_KEY_PREFIX}[\\w-]+)([\\w-]{43})$`);
const PICO_USD = /^\d{1,38}$/;

/** Returns the id of a new child key, which ends at a time in milliseconds, below the child key `parent` or the key itself. */
export function makeChildPath(parent: string | undefined, endsAt: number): string {
  const id = `${String(Math.floor(endsAt / 1_000)).padStart(10, '0')}-${randomBytes(8).toString('hex')}`;
  return parent === undefined ? id : `${parent}.${id}`;
}

/** Signs a child key with the key's own signing key. It has letters, digits, `-` and `_`. */
export function signChildKey(keyId: string, levels: readonly ChildLevel[], signingKey: Buffer): string {
  const chain = levels.map(({ path, limitPicoUsd: b, models: m, networks: n, tags: t }) => {
    const i = path.slice(path.lastIndexOf('.') + 1);
    return { i, b, ...(m && { m }), ...(n && { n }), ...(t && { t }) };
  });
  const signed = CHILD_KEY_PREFIX + Buffer.from(JSON.stringify({ k: keyId, c: chain } satisfies Payload)).toString('base64url');
  return signed + sign(signed, signingKey).toString('base64url');
}

/** Returns the parts of a child key; undefined for any other text. They are not to be trusted before `isSignedBy`. */
export function parseChildKey(text: string): SentChildKey | undefined {
  if (text.length > CHILD_KEY_LENGTH_MAX) return undefined;
  const [, signed = '', signature = ''] = FORM.exec(text) ?? [];
  const bytes = Buffer.from(signature, 'base64url');
  // The last character has bits that are not part of the signature: each child key has one text.
  if (signed === '' || bytes.toString('base64url') !== signature) return undefined;
  const chain = parseSigned(signed);
  return chain && { ...chain, signed, signature: bytes };
}

/** Returns what a text without its signature says; undefined for a text that no service has made. */
export function parseSigned(signed: string): Pick<SentChildKey, 'keyId' | 'levels'> | undefined {
  try {
    const { k: keyId, c: chain } = JSON.parse(Buffer.from(signed.slice(CHILD_KEY_PREFIX.length), 'base64url').toString()) as Payload;
    const paths = listChain(chain.map(({ i }) => i).join('.'));
    const isValid = typeof keyId === 'string' && chain.length <= CHILD_DEPTH_MAX && CHILD_PATH.test(paths.at(-1) as string);
    if (!isValid || chain.some(({ b }) => !PICO_USD.test(b))) return undefined;
    return {
      keyId,
      levels: chain.map(({ b: limitPicoUsd, m: models, n: networks, t: tags }, depth) => ({
        ...{ path: paths[depth] as string, limitPicoUsd },
        ...{ ...(models && { models }), ...(networks && { networks }), ...(tags && { tags }) },
      })),
    };
  } catch {
    return undefined;
  }
}

/** True when the signing key of the child key's key has signed it. */
export function isSignedBy({ signed, signature }: SentChildKey, signingKey: Buffer): boolean {
  return timingSafeEqual(sign(signed, signingKey), signature);
}

/** Returns the hex SHA-256 of a signature: it proves to a service that can sign that the caller has seen the child key. */
export function proveSignature(signature: Buffer): string {
  return hash('sha256', signature, 'hex');
}

/** True when the proof is of the signature that the signing key gives the text. */
export function provesSignature(proof: string, signed: string, signingKey: Buffer): boolean {
  return timingSafeEqual(Buffer.from(proveSignature(sign(signed, signingKey)), 'hex'), Buffer.from(proof, 'hex'));
}

/** Returns the time from which on the child key at the end of a chain is refused, in milliseconds: the earliest end of the chain. */
export function readEnd(levels: readonly ChildLevel[]): number {
  return Math.min(...levels.map(({ path }) => readChildEnd(path)));
}

function sign(text: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
