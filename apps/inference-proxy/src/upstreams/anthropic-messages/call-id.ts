import { digestCallId } from '../requests/digest-call-id.js';

const DIGEST_LENGTH = 53;

/** Returns the id to send: the call's own, or a digest where it has characters that the dialect refuses. */
export function renderCallId(callId: string): string {
  return /^[A-Za-z0-9_-]+$/.test(callId) ? callId : digestCallId(callId, DIGEST_LENGTH);
}
