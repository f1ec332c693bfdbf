import { createHmac, timingSafeEqual } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { PinnedPrice } from '#contracts/billing/holds.js';

/** Characters of a signed quote: with it the headers of a request stay within what the gateway reads. */
export const SIGNED_QUOTE_MAX = 8_000;
/** Bytes of a quote before it is compressed: more than the longest list of prices. */
const TERMS_BYTES_MAX = 256 * 1024;

/** The request that a quote is for, and what was promised for it. */
export interface QuoteTerms {
  accountId: string;
  /** Format of the endpoint. */
  format: string;
  model: string;
  /** SHA-256 of the body, byte for byte. */
  bodyDigest: string;
  /** Price of the model, without the images of the request. */
  price: PinnedPrice;
  amountPicoUsd: string;
  outputTokensMax: number;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** A quote as it was sent, before its signature is checked. */
export interface SentQuote {
  keyNumber: number;
  signed: string;
  signature: Buffer;
}

const FORM = /^(q1\.(\d{1,9})\.[\w-]+)\.([\w-]{43})$/;

/** Signs the terms with the key of a number. The text has letters, digits, points, `-` and `_`. */
export function signQuote(terms: QuoteTerms, keyNumber: number, key: Buffer): string {
  const signed = `q1.${keyNumber}.${deflateRawSync(JSON.stringify(terms)).toString('base64url')}`;
  return `${signed}.${sign(signed, key).toString('base64url')}`;
}

/** Returns the parts of a quote; undefined for any other text. */
export function parseQuote(text: string): SentQuote | undefined {
  const [, signed, keyNumber, signature] = FORM.exec(text) ?? [];
  if (signed === undefined || signature === undefined) return undefined;
  const bytes = Buffer.from(signature, 'base64url');
  // The last character has bits that are not part of the signature: each signature has one text.
  if (bytes.toString('base64url') !== signature) return undefined;
  return { keyNumber: Number(keyNumber), signed, signature: bytes };
}

/** Returns the terms of a quote that the key has signed; undefined for any other. */
export function openQuote({ signed, signature }: SentQuote, key: Buffer): QuoteTerms | undefined {
  if (!timingSafeEqual(sign(signed, key), signature)) return undefined;
  const payload = Buffer.from(signed.slice(signed.lastIndexOf('.') + 1), 'base64url');
  return JSON.parse(inflateRawSync(payload, { maxOutputLength: TERMS_BYTES_MAX }).toString()) as QuoteTerms;
}

function sign(signed: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(signed).digest();
}
