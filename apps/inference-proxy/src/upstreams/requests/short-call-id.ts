import { createHash } from 'node:crypto';

/** The id itself, or a digest of it where a dialect takes no such length: a call and its result are shortened alike. */
export function shortCallId(callId: string, lengthMax: number): string {
  return callId.length <= lengthMax ? callId : digestOf(callId);
}

/** The id itself, or a digest of it where only letters, digits, `_` and `-` are taken: ids that differ in others stay apart. */
export function plainCallId(callId: string): string {
  return /^[A-Za-z0-9_-]+$/.test(callId) ? callId : digestOf(callId);
}

function digestOf(callId: string): string {
  return `call_${createHash('sha256').update(callId).digest('hex').slice(0, 48)}`;
}

/** The id itself, or a digest of it where only nine letters and digits are taken: an upstream's own ids come back unchanged. */
export function nineCharacterCallId(callId: string): string {
  if (/^[A-Za-z0-9]{9}$/.test(callId)) return callId;
  // 46 bits of base 36: two ids of one conversation do not meet.
  const digest = createHash('sha256').update(callId).digest('hex').slice(0, 12);
  return BigInt(`0x${digest}`).toString(36).padStart(9, '0').slice(-9);
}
