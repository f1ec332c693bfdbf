/**
 * The money of one account, in pico-USD: what a row of `billing.account` holds. All changes of balances by requests are
 * made by the functions here; each keeps `0 ≤ topupHeld ≤ topup`, `0 ≤ planHeld ≤ plan` and `expired ≥ 0`.
 */
export interface Funds {
  topup: bigint;
  topupHeld: bigint;
  plan: bigint;
  planHeld: bigint;
  /** What open holds may still use of grants that have ended. In no balance. */
  expired: bigint;
  /** The live plan grant; `endsAt` in milliseconds. Null: `plan` is 0. */
  grant: { id: string; endsAt: number } | null;
}

/** Where the money of a hold came from. `grantId` is null when none of it came from a plan. */
export interface HeldParts {
  plan: bigint;
  topup: bigint;
  grantId: string | null;
}

/** Where the money of a cost came from; the parts sum to the cost. */
export interface Charge {
  planCost: bigint;
  liveGrantId: string | null;
  endedCost: bigint;
  topupCost: bigint;
  /** What the hold had of an ended grant and did not use: nobody can any more. */
  forfeit: bigint;
}

/**
 * Where the money of a late settlement came from, or, below zero, went back to. The costs and what is written off, less what is
 * forfeited, sum to what was due.
 */
export interface LateCharge {
  planCost: bigint;
  liveGrantId: string | null;
  topupCost: bigint;
  writeoff: bigint;
  /** What was paid too much from a grant that has ended since: nobody's any more. */
  forfeit: bigint;
}

/** What a new request can use. */
export function availableOf(funds: Funds): bigint {
  return freePlan(funds) + funds.topup - funds.topupHeld;
}

/** Sets `amount` aside, from the plan first. The caller has checked `availableOf`. */
export function takeHold(funds: Funds, amount: bigint): HeldParts {
  const plan = min(amount, freePlan(funds));
  const topup = amount - plan;
  funds.planHeld += plan;
  funds.topupHeld += topup;
  return { plan, topup, grantId: plan > 0n && funds.grant ? funds.grant.id : null };
}

/**
 * Gives back what a hold had set aside. All holds of a batch are given back before any is charged: charged one by one,
 * the split between plan and top-up would depend on their order, and could ask the top-up for money others still hold.
 */
export function returnHold(funds: Funds, parts: HeldParts): void {
  if (isEnded(funds, parts)) funds.expired -= parts.plan;
  else funds.planHeld -= parts.plan;
  funds.topupHeld -= parts.topup;
}

/**
 * Takes `cost` from an account whose holds of this batch have been returned: first what the hold had of an ended grant,
 * then the free plan, then the top-up. It always fits, because no cost is above its hold (billing.md 2.3, "burn order").
 */
export function charge(funds: Funds, parts: HeldParts, cost: bigint): Charge {
  const ended = isEnded(funds, parts) ? parts.plan : 0n;
  const endedCost = min(cost, ended);
  const planCost = min(cost - endedCost, freePlan(funds));
  const topupCost = cost - endedCost - planCost;
  funds.plan -= planCost;
  funds.topup -= topupCost;
  return { planCost, liveGrantId: planCost > 0n && funds.grant ? funds.grant.id : null, endedCost, topupCost, forfeit: ended - endedCost };
}

/** Takes what is due for a hold that has been given back already: from what is free now, the plan first, and no more than that. */
export function chargeLate(funds: Funds, due: bigint): LateCharge {
  const planCost = min(due, freePlan(funds));
  const topupCost = min(due - planCost, funds.topup - funds.topupHeld);
  funds.plan -= planCost;
  funds.topup -= topupCost;
  const liveGrantId = planCost > 0n && funds.grant ? funds.grant.id : null;
  return { planCost, liveGrantId, topupCost, writeoff: due - planCost - topupCost, forfeit: 0n };
}

/**
 * Gives back `excess` of what a settlement charged, as if the rest alone had been charged: to the top-up, the last to be charged, then to
 * the plan. What the grant it came from can no longer take, because it has ended, is forfeited like all that is left of a grant.
 */
export function giveBack(funds: Funds, charged: Pick<Charge, 'planCost' | 'liveGrantId' | 'topupCost'>, excess: bigint): LateCharge {
  const topup = min(excess, charged.topupCost);
  const isLive = charged.liveGrantId !== null && charged.liveGrantId === funds.grant?.id;
  const plan = isLive ? min(excess - topup, charged.planCost) : 0n;
  funds.topup += topup;
  funds.plan += plan;
  const liveGrantId = plan > 0n ? charged.liveGrantId : null;
  return { planCost: -plan, liveGrantId, topupCost: -topup, writeoff: 0n, forfeit: excess - topup - plan };
}

/** A grant's end: its free part is forfeited, its held part stays with the open holds alone. */
export function endGrant(funds: Funds): { grantId: string; amount: bigint } | undefined {
  if (!funds.grant) return undefined;
  const forfeited = { grantId: funds.grant.id, amount: freePlan(funds) };
  funds.expired += funds.planHeld;
  funds.plan = 0n;
  funds.planHeld = 0n;
  funds.grant = null;
  return forfeited;
}

/** Ends the grant if its time has come. */
export function endDueGrant(funds: Funds, now: number): { grantId: string; amount: bigint } | undefined {
  return funds.grant && funds.grant.endsAt <= now ? endGrant(funds) : undefined;
}

function freePlan(funds: Funds): bigint {
  return funds.plan - funds.planHeld;
}

function isEnded(funds: Funds, parts: HeldParts): boolean {
  return parts.plan > 0n && parts.grantId !== funds.grant?.id;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
