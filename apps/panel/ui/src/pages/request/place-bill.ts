import type { BilledRequest } from '../../../../src/shapes/billing.js';
import type { EndedRequest } from '../../../../src/shapes/overview.js';

/** Times of a hold and its settlement on the axis of the request: milliseconds since the gateway received it, or since the hold. */
interface BillTimes {
  heldMs: number;
  /** Undefined: the reaper has not billed it. */
  reapedMs: number | undefined;
  /** Undefined while it runs. */
  settledMs: number | undefined;
}

/** Milliseconds for the way of a hold back to the gateway, by which a settlement may seem later than it was. */
const WAY_BACK_MS = 50;

/**
 * Places what billing did on the clock of the gateway. The clocks of gateway and database may differ, so the hold stands where the gateway got
 * it, and a settlement as long after the hold as by the clock of the database.
 */
export function placeBill(
  { reservedAt, settlement }: Pick<BilledRequest, 'reservedAt' | 'settlement'>,
  activity?: EndedRequest,
): BillTimes {
  const heldMs = activity?.heldMs ?? 0;
  const after = (at: string): number => heldMs + Math.max(0, Date.parse(at) - Date.parse(reservedAt));
  const settledMs = settlement ? after(settlement.settledAt) : undefined;
  const reapedMs = settlement?.reaped ? after(settlement.reaped.settledAt) : undefined;
  return { heldMs, reapedMs, settledMs: settledMs !== undefined && activity ? beforeEnd(settledMs, activity) : settledMs };
}

/** The reply of a gateway ends after its settlement, unless the client had left or billing was late. */
function beforeEnd(settledMs: number, { outcome, endedMs }: EndedRequest): number {
  const isAwaited = outcome !== 'client-disconnected' && settledMs <= endedMs + WAY_BACK_MS;
  return isAwaited ? Math.min(settledMs, endedMs) : settledMs;
}
