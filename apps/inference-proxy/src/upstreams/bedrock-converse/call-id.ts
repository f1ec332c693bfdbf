import { splitCallId } from '#inference/signed-call-id.js';
import { digestCallId } from '../requests/digest-call-id.js';

const ID_LENGTH_MAX = 64;

/** Returns the id to send: the call's own without a signature, or a digest where the dialect refuses its characters or its length. */
export function renderCallId(signed: string): string {
  const { callId } = splitCallId(signed);
  return /^[A-Za-z0-9_-]+$/.test(callId) && callId.length <= ID_LENGTH_MAX ? callId : digestCallId(callId, ID_LENGTH_MAX);
}
