import { digestCallId } from '../requests/digest-call-id.js';

/** Longer ids are refused. */
const LENGTH_MAX = 64;
const DIGEST_LENGTH = 53;

/** Returns the id to send: the call's own, or a digest where it is too long. A call and its result get the same. */
export function renderCallId(callId: string): string {
  return callId.length <= LENGTH_MAX && callId.isWellFormed() ? callId : digestCallId(callId, DIGEST_LENGTH);
}
