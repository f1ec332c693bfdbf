import { splitCallId } from '#inference/signed-call-id.js';
import { digestCallId } from '../requests/digest-call-id.js';

const DIGEST_LENGTH = 53;

/** Returns the id to send: the call's own without a signature, or a digest where it has characters that the dialect refuses. */
export function renderCallId(signed: string): string {
  const { callId } = splitCallId(signed);
  return /^[A-Za-z0-9_-]+$/.test(callId) ? callId : digestCallId(callId, DIGEST_LENGTH);
}
