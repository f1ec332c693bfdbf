import { createHash } from 'node:crypto';

/** Longer ids are refused. */
const LENGTH_MAX = 64;

/** Returns the id to send: the call's own, or a digest where it is too long. A call and its result get the same. */
export function renderCallId(callId: string): string {
  return callId.length <= LENGTH_MAX ? callId : `call_${createHash('sha256').update(callId).digest('hex').slice(0, 48)}`;
}
