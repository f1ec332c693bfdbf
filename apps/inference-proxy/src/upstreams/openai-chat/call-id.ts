import type { UpstreamCapabilities } from '#contracts/catalog.js';
import { digestCallId } from '../requests/digest-call-id.js';

/** OpenAI refuses longer ids. Other servers make them, so a conversation that changes its route has them. */
const LENGTH_MAX = 40;

/**
 * Returns the id to send: the call's own, or a digest where it is too long or where the upstream takes only nine letters and digits. A
 * call and its result get the same.
 */
export function renderCallId(callId: string, { nineCharacterCallIds }: UpstreamCapabilities): string {
  if (!nineCharacterCallIds) return callId.length <= LENGTH_MAX && callId.isWellFormed() ? callId : digestCallId(callId, LENGTH_MAX);
  if (/^[A-Za-z0-9]{9}$/.test(callId)) return callId;
  // 46 bits in base 36: enough that two ids of one conversation do not collide.
  const digits = digestCallId(callId, 17).slice(-12);
  return BigInt(`0x${digits}`).toString(36).padStart(9, '0').slice(-9);
}
