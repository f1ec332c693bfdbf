import type { HeldItem, ServiceCeiling } from '#contracts/billing/holds.js';
import type { BatchDraft } from './batch.js';
import type { ServiceState } from './service-state.js';

/** Takes the ceilings that a reserve names, and returns the one that it would exceed. */
export function findCeiling(draft: BatchDraft, item: HeldItem, amount: bigint): ServiceCeiling | undefined {
  const state = findService(draft, item.service);
  state.dayMax = item.dayMaxPicoUsd === undefined ? null : BigInt(item.dayMaxPicoUsd);
  state.openHoldsMax = item.openHoldsMax ?? null;
  draft.changed.add(state);
  const { service, dayMax, openHoldsMax, spent, held, openHolds } = state;
  if (openHoldsMax !== null && openHolds >= openHoldsMax) return { service, by: 'open-holds', openHoldsMax, openHolds };
  if (dayMax === null || spent + held + amount <= dayMax) return undefined;
  return { service, by: 'day', dayMaxPicoUsd: String(dayMax), spentPicoUsd: String(spent), heldPicoUsd: String(held) };
}

/** Adds to what a service has open, holds and spends. `service` undefined: the hold is for a request to a model. */
export function countInService(
  draft: BatchDraft,
  service: string | undefined,
  { openHolds = 0, held = 0n, spent = 0n }: { openHolds?: number; held?: bigint; spent?: bigint },
): void {
  if (service === undefined) return;
  const state = findService(draft, service);
  state.openHolds += openHolds;
  state.held += held;
  state.spent += spent;
  draft.changed.add(state);
}

/**
 * Adds what a late settlement changes. What it gives back of an earlier day belongs to that day, whose sum is no longer kept: else a service could
 * spend a day's ceiling twice, by letting leases end on one day and settling them at less on the next.
 */
export function correctInService(draft: BatchDraft, service: string | undefined, change: bigint, reapedAt: number): void {
  if (service === undefined) return;
  if (change >= 0n || reapedAt >= findService(draft, service).day) countInService(draft, service, { spent: change });
}

/** Returns what a late settlement may still spend of the day; undefined without a ceiling. */
export function leftInService(draft: BatchDraft, service: string | undefined): bigint | undefined {
  if (service === undefined) return undefined;
  const { dayMax, spent, held } = findService(draft, service);
  if (dayMax === null) return undefined;
  const left = dayMax - spent - held;
  return left > 0n ? left : 0n;
}

function findService(draft: BatchDraft, service: string): ServiceState {
  const state = draft.services.get(service);
  if (!state) throw new RangeError(`service ${service} was not read`);
  return state;
}
