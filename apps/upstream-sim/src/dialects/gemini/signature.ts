import { createHash } from 'node:crypto';

/** Accepted on any call, as the real server does for histories of other models. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** Returns the signature of the reasoning that led to the call of a tool. */
export function signCall(name: string): string {
  return createHash('sha256').update(name).digest('base64');
}

/** True when the signature came with a call of this tool. */
export function isSignature(signature: unknown, name: string): boolean {
  return signature === NO_SIGNATURE || signature === signCall(name);
}
