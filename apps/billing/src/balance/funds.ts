/**
 * The money of one account in pico-USD: a row of `billing.account`. Requests change balances only through the functions below, each of
 * which keeps `0 ≤ topupHeld ≤ topup + creditLine`, `0 ≤ planHeld ≤ plan` and `expired ≥ 0`.
 */
export interface Funds {
  /** Negative while the credit line is in use. */
  topup: bigint;
  topupHeld: bigint;
  plan: bigint;
  planHeld: bigint;
  /** Money of ended grants that open holds may still use. Not part of any balance. */
  expired: bigint;
  /** The live plan grant; `endsAt` in milliseconds. Null: `plan` is 0. */
  grant: { id: string; endsAt: number } | null;
  /** Amount by which `topup` may go below zero. Batches never write it. */
  creditLine: bigint;
}

/** Parts of a hold that come from plan and from top-up. `grantId` is null when no plan money is part of it. */
export interface HeldParts {
  plan: bigint;
  topup: bigint;
  grantId: string | null;
}

/** Parts of a cost that come from the live plan, from an ended grant and from top-up. They sum to the cost. */
export interface Charge {
  planCost: bigint;
  liveGrantId: string | null;
  endedCost: bigint;
  topupCost: bigint;
  /** Money of an ended grant that the hold did not use. It is lost to the account. */
  forfeit: bigint;
}

/**
 * Parts of a late settlement that come from plan and from top-up, negative when money goes back. Costs and `writeoff`, less `forfeit`, sum
 * to `due`.
 */
export interface LateCharge {
  planCost: bigint;
  liveGrantId: string | null;
  topupCost: bigint;
  writeoff: bigint;
  /** Overpaid money of a grant that has ended since. It is lost to the account. */
  forfeit: bigint;
}

/** Columns of `billing.account`, amounts as text. */
export interface FundsRow {
  topup: string;
  topup_held: string;
  plan: string;
  plan_held: string;
  expired: string;
  grant_id: string | null;
  grant_ends_at: number | null;
  credit_line: string;
}

export function toFunds(row: FundsRow): Funds {
  return {
    topup: BigInt(row.topup),
    topupHeld: BigInt(row.topup_held),
    plan: BigInt(row.plan),
    planHeld: BigInt(row.plan_held),
    expired: BigInt(row.expired),
    grant: row.grant_id !== null && row.grant_ends_at !== null ? { id: row.grant_id, endsAt: row.grant_ends_at } : null,
    creditLine: BigInt(row.credit_line),
  };
}

/** Returns the whole balance, held money and the credit line included. It is never negative. */
export function sumBalance(funds: Funds): bigint {
  return funds.topup + funds.creditLine + funds.plan;
}

/** Returns the money that a new request can use. */
export function sumAvailable(funds: Funds): bigint {
  return freePlan(funds) + freeTopup(funds);
}

/** Holds `amount`, plan money first. The caller has checked `sumAvailable`. */
export function takeHold(funds: Funds, amount: bigint): HeldParts {
  const plan = min(amount, freePlan(funds));
  const topup = amount - plan;
  funds.planHeld += plan;
  funds.topupHeld += topup;
  return { plan, topup, grantId: plan > 0n && funds.grant ? funds.grant.id : null };
}

/**
 * Gives the money of a hold back to the account. All holds of a batch are given back before any is charged: charged one by one, the split
 * between plan and top-up would depend on their order, and could need top-up money that other holds have.
 */
export function returnHold(funds: Funds, parts: HeldParts): void {
  if (isEnded(funds, parts)) funds.expired -= parts.plan;
  else funds.planHeld -= parts.plan;
  funds.topupHeld -= parts.topup;
}

/**
 * Takes `cost` from an account whose holds of this batch have been returned: first from the ended grant of the hold, then from the free
 * plan, then from the top-up. It always fits, because a cost never exceeds its hold.
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

/** Takes what is due for a returned hold, at most `costMax`, from free money, plan first, and writes off the rest. */
export function chargeLate(funds: Funds, due: bigint, costMax = due): LateCharge {
  const cost = min(due, costMax);
  const planCost = min(cost, freePlan(funds));
  const topupCost = min(cost - planCost, freeTopup(funds));
  funds.plan -= planCost;
  funds.topup -= topupCost;
  const liveGrantId = planCost > 0n && funds.grant ? funds.grant.id : null;
  return { planCost, liveGrantId, topupCost, writeoff: due - planCost - topupCost, forfeit: 0n };
}

/**
 * Gives `excess` of a settlement back to the account, as if only the rest had been charged: first to the top-up, which was charged last,
 * then to the plan. The part of an ended grant is forfeited.
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

/** Ends the grant: its free part is forfeited, its held part stays with the open holds. */
export function endGrant(funds: Funds): { grantId: string; amount: bigint } | undefined {
  if (!funds.grant) return undefined;
  const forfeited = { grantId: funds.grant.id, amount: freePlan(funds) };
  funds.expired += funds.planHeld;
  funds.plan = 0n;
  funds.planHeld = 0n;
  funds.grant = null;
  return forfeited;
}

/** Ends the grant if `now` has reached its end. */
export function endDueGrant(funds: Funds, now: number): { grantId: string; amount: bigint } | undefined {
  return funds.grant && funds.grant.endsAt <= now ? endGrant(funds) : undefined;
}

function freePlan(funds: Funds): bigint {
  return funds.plan - funds.planHeld;
}

/** The credit line included. */
function freeTopup(funds: Funds): bigint {
  return funds.topup + funds.creditLine - funds.topupHeld;
}

function isEnded(funds: Funds, parts: HeldParts): boolean {
  return parts.plan > 0n && parts.grantId !== funds.grant?.id;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
