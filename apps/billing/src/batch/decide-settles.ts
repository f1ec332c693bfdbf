import type { SettleOutcome, TokenUsage } from '#contracts/billing/holds.js';
import { charge, chargeLate, giveBack, type HeldParts, type LateCharge, returnHold } from '../balance/funds.js';
import { type Amounts, type CountingBudget, computeLeft, findBudgets, findHoldBudgets } from '../budgets/budget.js';
import { correctWindow } from '../limits/minute-window.js';
import { findLimits, findModelLimits, findModelWindows, isAccountLimit, storeModelWindows } from '../limits/rate-limit.js';
import type { AccountState, HoldTimes, Settle } from './batch.js';
import { type BatchDraft, countInBudgets, listUses } from './batch-draft.js';
import { billableUsage, costWithin, type Hold, NO_USAGE, type ReapedHold, sumTokens } from './hold.js';

/**
 * Ends holds, each once. A settled hold is `already`, with its recorded cost, whichever account asks. A hold that the reaper ended may be
 * settled late, once. An open hold of another account is `unknown`. An id without any hold is `unknown` and gets a tombstone, so that a
 * reserve that arrives later is `closed`. An id of a detached month needs none: its reserves are `closed`.
 */
export function decideSettles(draft: BatchDraft, settles: readonly Settle[], times: HoldTimes): SettleOutcome[] {
  // Settles of services go before those of the reaper.
  const byReaper = settles.map(({ reason }) => reason === 'lease-expired');
  const byServices = settles.map((settle, position) => (byReaper[position] ? undefined : endHold(draft, settle, times)));
  const outcomes = settles.map((settle, position) => byServices[position] ?? endHold(draft, settle, times));
  // All holds are returned before any is charged (see `returnHold`). Late settlements get what is left.
  for (const outcome of outcomes) if (typeof outcome === 'object' && 'parts' in outcome) chargeHold(draft, outcome);
  for (const outcome of outcomes) if (typeof outcome === 'object' && 'reaped' in outcome) recordLate(draft, outcome);
  return outcomes.map((outcome, position) => {
    const { holdId } = settles[position] as Settle;
    const status = typeof outcome === 'string' ? outcome : 'settled';
    return { status, holdId, costPicoUsd: status === 'unknown' ? '0' : String(draft.settlements.get(holdId)) };
  });
}

interface EndedHold {
  settle: Settle;
  hold: Hold;
  account: AccountState;
  parts: HeldParts;
  budgets: readonly CountingBudget[];
}

interface PendingLateSettlement {
  settle: Settle;
  reaped: ReapedHold;
  account: AccountState;
  usage: TokenUsage;
  over: bigint;
  due: bigint;
  /** Set when `due` is negative: the money is already back. */
  returned?: LateCharge;
}

function endHold(draft: BatchDraft, settle: Settle, times: HoldTimes): EndedHold | PendingLateSettlement | 'already' | 'unknown' {
  const { holdId } = settle;
  const account = draft.accounts.get(settle.accountId);
  const byReaper = settle.reason === 'lease-expired';
  if (draft.settlements.has(holdId)) {
    const late = byReaper || !account ? undefined : takeReaped(draft, settle, account);
    return late ?? 'already';
  }
  if (!account) return 'unknown';
  const hold = draft.openBefore.get(holdId);
  if (!hold) {
    if (!byReaper && !draft.detached.has(holdId)) recordTombstone(draft, settle);
    return 'unknown';
  }
  if (hold.accountId !== account.accountId) return 'unknown';
  if (byReaper && hold.leaseUntil + times.reaperGraceMs >= draft.now) return 'unknown';
  const parts = { plan: hold.planPart, topup: hold.amount - hold.planPart, grantId: hold.grantId };
  returnHold(account.funds, parts);
  account.openHolds -= 1;
  draft.changed.add(account);
  const held: Amounts = { usd: -hold.amount, tokens: -(hold.amountTokens ?? 0) };
  const budgets = findHoldBudgets(draft.budgets, hold);
  countInBudgets(draft, budgets, account, { held });
  const project = draft.projects.get(hold.projectId);
  if (!project) throw new RangeError(`project of hold ${holdId} was not read`);
  project.openHolds -= 1;
  draft.changed.add(project);
  for (const limit of findLimits(draft.limits, hold)) {
    // A replica of a release without limits may have opened the hold.
    if (!isAccountLimit(limit)) limit.openHolds = Math.max(0, limit.openHolds - 1);
    draft.changed.add(limit);
  }
  draft.openNow.delete(holdId);
  draft.settlements.set(holdId, 0n); // a second settle in this batch is 'already'; chargeHold sets the cost
  return { settle, hold, account, parts, budgets };
}

function chargeHold(draft: BatchDraft, { settle, hold, account, parts, budgets }: EndedHold): void {
  const reported = settle.reason === 'lease-expired' ? hold.meter : settle.usage;
  const usage = reported ? billableUsage(reported) : NO_USAGE;
  const { cost, over } = costWithin(hold, usage);
  draft.settlements.set(hold.holdId, cost);
  correctTokens(draft, hold, usage);
  const spent: Amounts = { usd: cost, tokens: sumTokens(usage) };
  countInBudgets(draft, budgets, account, { spent });
  draft.rows.settled.push({
    holdId: hold.holdId,
    accountId: hold.accountId,
    reason: settle.reason,
    upstream: settle.upstream ?? null,
    settledBy: settle.settledBy ?? null,
    cost,
    over,
    charge: charge(account.funds, parts, cost),
    usage,
    metered: reported !== undefined,
  });
}

/** Replaces the tokens that the hold counted as by those that it used, in the second in which it was opened. */
function correctTokens(draft: BatchDraft, hold: Hold, usage: TokenUsage): void {
  if (hold.tokens === undefined) return;
  const change = sumTokens(usage) - hold.tokens;
  for (const limit of findLimits(draft.limits, hold)) {
    limit.tokenWindow = correctWindow(limit.tokenWindow, hold.createdAt, change);
    for (const { model: pattern } of findModelLimits(limit, hold.model ?? '')) {
      storeModelWindows(limit, pattern, { tokens: correctWindow(findModelWindows(limit, pattern).tokens, hold.createdAt, change) });
    }
  }
}

/**
 * Takes a reaped hold for the first settle that asks for it; later ones are `already`. Money that the reaper billed too much goes back to
 * the account now; money still due is charged in `recordLate`.
 */
function takeReaped(draft: BatchDraft, settle: Settle, account: AccountState): PendingLateSettlement | undefined {
  const reaped = draft.reaped.get(settle.holdId);
  if (reaped?.accountId !== account.accountId) return undefined;
  draft.reaped.delete(settle.holdId);
  const usage = settle.usage ? billableUsage(settle.usage) : NO_USAGE;
  const { cost, over } = costWithin(reaped, usage);
  const due = cost - reaped.billed;
  return { settle, reaped, account, usage, over, due, ...(due < 0n && { returned: giveBack(account.funds, reaped.charged, -due) }) };
}

function recordLate(draft: BatchDraft, { settle, reaped, account, usage, over, due, returned }: PendingLateSettlement): void {
  const parts = returned ?? chargeLate(account.funds, due, leftForLate(draft, reaped));
  if (parts.planCost !== 0n || parts.topupCost !== 0n) draft.changed.add(account);
  const spent: Amounts = { usd: due - parts.writeoff, tokens: sumTokens(usage) - reaped.usedTokens };
  countInBudgets(draft, findHoldBudgets(draft.budgets, reaped), account, { spent });
  draft.settlements.set(settle.holdId, reaped.billed + due - parts.writeoff);
  draft.rows.late.push({ settle, hold: reaped, due, over, charge: parts, usage, metered: settle.usage !== undefined });
}

/**
 * Returns what a late settlement may charge within the budgets of its hold; undefined when there are none. Nothing when a window of the hold
 * is over: what others spent in it is not known any more. Budgets of tokens only count: tokens that were used cannot be written off.
 */
function leftForLate(draft: BatchDraft, reaped: ReapedHold): bigint | undefined {
  const ofMoney = listUses(draft, findBudgets(draft.budgets, reaped)).filter(({ budget }) => budget.unit === 'usd');
  const left = ofMoney.map((use) => (use.budget.windowStart <= reaped.createdAt ? computeLeft(use) : 0n));
  return left.length > 0 ? left.reduce((least, amount) => (amount < least ? amount : least)) : undefined;
}

function recordTombstone(draft: BatchDraft, settle: Settle): void {
  draft.settlements.set(settle.holdId, 0n);
  draft.rows.tombstones.push(settle);
}
