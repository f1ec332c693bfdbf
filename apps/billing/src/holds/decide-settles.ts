import type { SettleOutcome } from '#contracts/billing/holds.js';
import { charge, type HeldParts, returnHold } from '../ledger/funds.js';
import type { AccountState, Settle, Terms } from './batch.js';
import type { BatchBook } from './batch-book.js';
import { billableUsage, costWithin, type Hold, NO_USAGE } from './hold.js';

/**
 * Ends holds, each once. A hold settled before is answered with what was recorded. One that was never seen gets a
 * tombstone, so that a reserve that arrives late finds it closed (billing.md 4). Someone else's hold is left alone.
 */
export function decideSettles(book: BatchBook, settles: readonly Settle[], terms: Terms): SettleOutcome[] {
  const endings = settles.map((settle) => endHold(book, settle, terms));
  // Two passes: everything is given back before anything is charged (see `returnHold`).
  return endings.map((ending, position) => {
    const { holdId } = settles[position] as Settle;
    if (ending !== 'already' && ending !== 'unknown') chargeHold(book, ending);
    const status = typeof ending === 'string' ? ending : 'settled';
    return { status, holdId, costPicoUsd: String(book.settlements.get(holdId) ?? 0n) };
  });
}

interface Ending {
  settle: Settle;
  hold: Hold;
  account: AccountState;
  parts: HeldParts;
}

function endHold(book: BatchBook, settle: Settle, terms: Terms): Ending | 'already' | 'unknown' {
  const { holdId } = settle;
  if (book.settlements.has(holdId)) return 'already';
  const account = book.accounts.get(settle.accountId);
  if (!account) return 'unknown';
  const hold = book.holds.get(holdId);
  const expiring = settle.reason === 'lease-expired';
  if (!hold) {
    if (!expiring) bury(book, settle);
    return 'unknown';
  }
  if (hold.accountId !== account.accountId) return 'unknown';
  if (expiring && hold.leaseUntil + terms.reaperGraceMs >= book.now) return 'unknown';
  const parts = { plan: hold.planPart, topup: hold.amount - hold.planPart, grantId: hold.grantId };
  returnHold(account.funds, parts);
  account.openHolds -= 1;
  book.changed.add(account);
  const project = book.projects.get(hold.projectId);
  if (!project) throw new RangeError(`project of hold ${holdId} was not read`);
  project.openHolds -= 1;
  book.changed.add(project);
  book.holders.delete(holdId);
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
    cost,
    over,
    charge: charge(account.funds, parts, cost),
    usage,
    metered: reported !== undefined,
  });
}

function bury(book: BatchBook, settle: Settle): void {
  book.settlements.set(settle.holdId, 0n);
  book.rows.tombstones.push(settle);
}
