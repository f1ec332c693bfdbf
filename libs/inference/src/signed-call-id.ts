/*
 * Some upstreams sign the reasoning that led to a call and require the signature with the call in later requests. Every client format
 * returns the id of a call unchanged, so the signature travels in it: `call_1-sig-<signature>`, with the characters that all formats accept.
 */

const SEPARATOR = '-sig-';
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Characters of the longest signature that is kept. Longer ones would make each later request longer than its reasoning was worth. */
const SIGNATURE_LENGTH_MAX = 64 * 1024;

/** Returns the id with the signature in it; unchanged when there is none, or none in base64. */
export function signCallId(callId: string, signature: string | undefined): string {
  if (signature === undefined || signature.length > SIGNATURE_LENGTH_MAX || !BASE64.test(signature)) return callId;
  return callId + SEPARATOR + signature.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_');
}

/** Returns the id as its upstream knows it, and the signature. */
export function splitCallId(signed: string): { callId: string; signature: string | undefined } {
  const at = signed.indexOf(SEPARATOR);
  if (at === -1) return { callId: signed, signature: undefined };
  const base64 = signed
    .slice(at + SEPARATOR.length)
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  const signature = base64.padEnd(Math.ceil(base64.length / 4) * 4, '=');
  return BASE64.test(signature) ? { callId: signed.slice(0, at), signature } : { callId: signed, signature: undefined };
}
