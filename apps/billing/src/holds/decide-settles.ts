import type { SettleOutcome, TokenUsage } from '#contracts/billing/holds.js';
import { charge, chargeLate, giveBack, type HeldParts, type LateCharge, returnHold } from '../ledger/funds.js';
import type { AccountState, HoldTimes, Settle } from './batch.js';
import type { BatchBook } from './batch-book.js';
import { billableUsage, costWithin, type Hold, NO_USAGE, type ReapedHold } from './hold.js';

/**
 * Ends holds, each once. A hold settled before is answered with what was recorded; one that the reaper ended may be settled
 * late, once. One that was never seen gets a tombstone, so that a reserve that arrives late finds it closed (billing.md 4).
 * Someone else's hold is left alone.
 */
export function decideSettles(book: BatchBook, settles: readonly Settle[], times: HoldTimes): SettleOutcome[] {
  // The reaper yields to whoever settles in the same batch.
  const reaping = settles.map(({ reason }) => reason === 'lease-expired');
  const asked = settles.map((settle, position) => (reaping[position] ? undefined : endHold(book, settle, times)));
  const endings = settles.map((settle, position) => asked[position] ?? endHold(book, settle, times));
  // Everything is given back before anything is charged (see `returnHold`), and late settlements get what is left after that.
  for (const ending of endings) if (typeof ending === 'object' && 'parts' in ending) chargeHold(book, ending);
  for (const ending of endings) if (typeof ending === 'object' && 'reaped' in ending) chargeReaped(book, ending);
  return endings.map((ending, position) => {
    const { holdId } = settles[position] as Settle;
    const status = typeof ending === 'string' ? ending : 'settled';
    return { status, holdId, costPicoUsd: status === 'unknown' ? '0' : String(book.settlements.get(holdId)) };
  });
}

interface Ending {
  settle: Settle;
  hold: Hold;
  account: AccountState;
  parts: HeldParts;
}

interface LateEnding {
  settle: Settle;
  reaped: ReapedHold;
  account: AccountState;
  usage: TokenUsage;
  over: bigint;
  due: bigint;
  /** Where it went, if it is below zero: given back already. */
  returned?: LateCharge;
}

function endHold(book: BatchBook, settle: Settle, times: HoldTimes): Ending | LateEnding | 'already' | 'unknown' {
  const { holdId } = settle;
  const account = book.accounts.get(settle.accountId);
  const expiring = settle.reason === 'lease-expired';
  if (book.settlements.has(holdId)) return (!expiring && account && takeReaped(book, settle, account)) || 'already';
  if (!account) return 'unknown';
  const hold = book.holds.get(holdId);
  if (!hold) {
    if (!expiring) bury(book, settle);
    return 'unknown';
  }
  if (hold.accountId !== account.accountId) return 'unknown';
  if (expiring && hold.leaseUntil + times.reaperGraceMs >= book.now) return 'unknown';
  const parts = { plan: hold.planPart, topup: hold.amount - hold.planPart, grantId: hold.grantId };
  returnHold(account.funds, parts);
  account.openHolds -= 1;
  book.changed.add(account);
  const project = book.projects.get(hold.projectId);
  if (!project) throw new RangeError(`project of hold ${holdId} was not read`);
  project.openHolds -= 1;
  book.changed.add(project);
  book.held.delete(holdId);
  book.settlements.set(holdId, 0n); // a second settle in this batch is 'already'; the cost follows
  return { settle, hold, account, parts };
}

function chargeHold(book: BatchBook, { settle, hold, account, parts }: Ending): void {
  const reported = settle.reason === 'lease-expired' ? hold.meter : settle.usage;
  const usage = reported ? billableUsage(reported) : NO_USAGE;
  const { cost, over } = costWithin(hold, usage);
  book.settlements.set(hold.holdId, cost);
  book.rows.settled.push({
    holdId: hold.holdId,
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

/**
 * The first settle of a reaped hold takes it, and any other is 'already'. The reading that was billed is an estimate until the upstream
 * reports: what it was too high is given back.
 */
function takeReaped(book: BatchBook, settle: Settle, account: AccountState): LateEnding | undefined {
  const reaped = book.reaped.get(settle.holdId);
  if (reaped?.accountId !== account.accountId) return undefined;
  book.reaped.delete(settle.holdId);
  const usage = settle.usage ? billableUsage(settle.usage) : NO_USAGE;
  const { cost, over } = costWithin(reaped, usage);
  const due = cost - reaped.billed;
  return { settle, reaped, account, usage, over, due, ...(due < 0n && { returned: giveBack(account.funds, reaped.charged, -due) }) };
}

function chargeReaped(book: BatchBook, { settle, reaped, account, usage, over, due, returned }: LateEnding): void {
  const parts = returned ?? chargeLate(account.funds, due);
  if (parts.planCost !== 0n || parts.topupCost !== 0n) book.changed.add(account);
  book.settlements.set(settle.holdId, reaped.billed + due - parts.writeoff);
  book.rows.late.push({ settle, hold: reaped, due, over, charge: parts, usage, metered: settle.usage !== undefined });
}

function bury(book: BatchBook, settle: Settle): void {
  book.settlements.set(settle.holdId, 0n);
  book.rows.tombstones.push(settle);
}
