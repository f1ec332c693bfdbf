import { createHash } from 'node:crypto';

/** Returns the id to send: the call's own, or a digest where it has characters that the dialect refuses. */
export function renderCallId(callId: string): string {
  return /^[A-Za-z0-9_-]+$/.test(callId) ? callId : `call_${createHash('sha256').update(callId).digest('hex').slice(0, 48)}`;
}
