import { createHash } from 'node:crypto';
import type { UpstreamCapabilities } from '#contracts/catalog.js';

/** Returns the id to send: the call's own or, where the upstream takes only nine letters and digits, a digest of any other. */
export function renderCallId(callId: string, { nineCharacterCallIds }: UpstreamCapabilities): string {
  if (!nineCharacterCallIds || /^[A-Za-z0-9]{9}$/.test(callId)) return callId;
  // 46 bits in base 36: enough that two ids of one conversation do not collide.
  const digest = createHash('sha256').update(callId).digest('hex').slice(0, 12);
  return BigInt(`0x${digest}`).toString(36).padStart(9, '0').slice(-9);
}
