import { createHash } from 'node:crypto';

/** The id itself, or a digest of it where a dialect takes no such length: a call and its result are shortened alike. */
export function shortCallId(callId: string, lengthMax: number): string {
  return callId.length <= lengthMax ? callId : `call_${createHash('sha256').update(callId).digest('hex').slice(0, 48)}`;
}
