import type { SettleOutcome, TokenUsage } from '#contracts/billing/holds.js';
import { charge, chargeLate, giveBack, type HeldParts, type LateCharge, returnHold } from '../ledger/funds.js';
import type { AccountState, HoldTimes, Settle } from './batch.js';
import type { BatchBook } from './batch-book.js';
import { billableUsage, costWithin, type Hold, NO_USAGE, type ReapedHold } from './hold.js';

/**
 * Ends holds, each once. A settled hold is answered with its recorded cost. A hold that the reaper ended may be settled late, once. An
 * unknown hold gets a tombstone, so that a reserve that arrives later is `closed`. A hold of another account is `unknown`.
 */
export function decideSettles(book: BatchBook, settles: readonly Settle[], times: HoldTimes): SettleOutcome[] {
  // Settles of services go before those of the reaper.
  const reaping = settles.map(({ reason }) => reason === 'lease-expired');
  const asked = settles.map((settle, position) => (reaping[position] ? undefined : endHold(book, settle, times)));
  const endings = settles.map((settle, position) => asked[position] ?? endHold(book, settle, times));
  // All holds are returned before any is charged (see `returnHold`). Late settlements get what is left.
  for (const ending of endings) if (typeof ending === 'object' && 'parts' in ending) chargeHold(book, ending);
  for (const ending of endings) if (typeof ending === 'object' && 'reaped' in ending) chargeReaped(book, ending);
  return endings.map((ending, position) => {
    const { holdId } = settles[position] as Settle;
    const status = typeof ending === 'string' ? ending : 'settled';
    return { status, holdId, costPicoUsd: status === 'unknown' ? '0' : String(book.settlements.get(holdId)) };
  });
}

interface EndedHold {
  settle: Settle;
  hold: Hold;
  account: AccountState;
  parts: HeldParts;
}

interface LateSettle {
  settle: Settle;
  reaped: ReapedHold;
  account: AccountState;
  usage: TokenUsage;
  over: bigint;
  due: bigint;
  /** Set when `due` is negative: the money is already back. */
  returned?: LateCharge;
}

function endHold(book: BatchBook, settle: Settle, times: HoldTimes): EndedHold | LateSettle | 'already' | 'unknown' {
  const { holdId } = settle;
  const account = book.accounts.get(settle.accountId);
  const expiring = settle.reason === 'lease-expired';
  if (book.settlements.has(holdId)) return (!expiring && account && takeReaped(book, settle, account)) || 'already';
  if (!account) return 'unknown';
  const hold = book.holds.get(holdId);
  if (!hold) {
    if (!expiring) recordTombstone(book, settle);
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
  book.settlements.set(holdId, 0n); // a second settle in this batch is 'already'; chargeHold sets the cost
  return { settle, hold, account, parts };
}

function chargeHold(book: BatchBook, { settle, hold, account, parts }: EndedHold): void {
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
 * Takes a reaped hold for the first settle that asks for it; later ones are `already`. The reaper billed a meter reading, an estimate: the
 * excess over the actual cost goes back to the account.
 */
function takeReaped(book: BatchBook, settle: Settle, account: AccountState): LateSettle | undefined {
  const reaped = book.reaped.get(settle.holdId);
  if (reaped?.accountId !== account.accountId) return undefined;
  book.reaped.delete(settle.holdId);
  const usage = settle.usage ? billableUsage(settle.usage) : NO_USAGE;
  const { cost, over } = costWithin(reaped, usage);
  const due = cost - reaped.billed;
  return { settle, reaped, account, usage, over, due, ...(due < 0n && { returned: giveBack(account.funds, reaped.charged, -due) }) };
}

function chargeReaped(book: BatchBook, { settle, reaped, account, usage, over, due, returned }: LateSettle): void {
  const parts = returned ?? chargeLate(account.funds, due);
  if (parts.planCost !== 0n || parts.topupCost !== 0n) book.changed.add(account);
  book.settlements.set(settle.holdId, reaped.billed + due - parts.writeoff);
  book.rows.late.push({ settle, hold: reaped, due, over, charge: parts, usage, metered: settle.usage !== undefined });
}

function recordTombstone(book: BatchBook, settle: Settle): void {
  book.settlements.set(settle.holdId, 0n);
  book.rows.tombstones.push(settle);
}
