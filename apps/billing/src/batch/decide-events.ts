import type { ReserveOutcome, ReserveRequest } from '#contracts/billing/holds.js';
import { sumBalance } from '../balance/funds.js';
import {
  type BudgetState,
  findBudgets,
  inUnit,
  isPerValue,
  newlyPassed,
  nextThreshold,
  renderPayload,
  valueKey,
} from '../budgets/budget.js';
import { toPayer } from '../payer/payer.js';
import type { AccountState, BatchDraft } from './batch.js';
import { amountIn, listUses } from './count-budgets.js';

/** Milliseconds in which at most one refusal of an account is an event. */
const ANNOUNCED_PAUSE_MS = 60_000;

/**
 * Adds `budget-threshold`, `budget-exhausted` and `balance-exhausted`. Triggers on accounts, movements and budgets write `balance-low`,
 * `account-frozen`, `plan-expired` and `budget-reset`. Budgets of each user or each value of a tag have no events: an account may have a
 * million of them. Call when everything else is decided.
 */
export function decideEvents(draft: BatchDraft, reserves: readonly ReserveRequest[], outcomes: readonly ReserveOutcome[]): void {
  for (const ofAccount of draft.budgets.values())
    for (const budgets of ofAccount.values()) for (const budget of budgets) passThresholds(draft, budget);
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.status === 'refused' && outcome.code === 'insufficient_balance') {
      announceRefusal(draft, reserves[position] as ReserveRequest, outcome);
    }
  }
}

/**
 * Compares the whole sum, not what this batch has added, so that no threshold is missed. Where the sum was not read, the statement that writes
 * the batch fails at a threshold, and the batch is repeated under the lock.
 */
function passThresholds(draft: BatchDraft, budget: BudgetState): void {
  const account = draft.accounts.get(budget.accountId);
  if (!account || budget.thresholds.length === 0) return;
  const spent = readSpent(draft, budget);
  for (const percent of newlyPassed(budget, spent)) {
    budget.passed = percent;
    draft.changed.add(budget).add(account);
    draft.rows.events.push({
      accountId: budget.accountId,
      kind: 'budget-threshold',
      payload: { percent, ...renderPayload(budget, spent) },
    });
  }
  const change = budget.value !== undefined && draft.values.get(valueKey(budget, budget.value));
  if (change) change.nextThreshold = nextThreshold(budget);
}

/** Returns what a budget has spent that has one sum. Zero: nothing, or it is not known. */
function readSpent(draft: BatchDraft, budget: BudgetState): bigint {
  return listUses(draft, [{ budget, value: budget.value }])[0]?.spent ?? 0n;
}

type Unaffordable = Extract<ReserveOutcome, { code: 'insufficient_balance' }>;

/** A refusal is an event only if the request could not be covered even if nothing were held. */
function announceRefusal(draft: BatchDraft, reserve: ReserveRequest, { requiredPicoUsd, budget: exceeded }: Unaffordable): void {
  const account = draft.accounts.get(reserve.accountId);
  if (!account || !isDue(account, draft.now)) return;
  const usd = BigInt(requiredPicoUsd);
  const { accountId, funds } = account;
  if (exceeded) {
    const counting = findBudgets(draft.budgets, toPayer(reserve, draft.keys.get(reserve.keyId)));
    const budget = counting.find(({ budget }) => budget.budgetId === exceeded.budgetId)?.budget;
    if (!budget || isPerValue(budget)) return;
    const spent = readSpent(draft, budget);
    const required = amountIn(budget, { usd, tokens: reserve.amountTokens ?? 0 });
    if (required <= budget.limit - spent) return;
    const payload = { ...renderPayload(budget, spent), ...inUnit(budget.unit, { required }) };
    draft.rows.events.push({ accountId, kind: 'budget-exhausted', payload });
  } else {
    const balance = sumBalance(funds);
    if (usd <= balance) return;
    draft.rows.events.push({ accountId, kind: 'balance-exhausted', payload: { balancePicoUsd: String(balance), requiredPicoUsd } });
  }
  account.announcedAt = draft.now;
  draft.changed.add(account);
}

/** A time in the future is that of a clock that was set back since. */
function isDue({ announcedAt }: AccountState, now: number): boolean {
  return announcedAt === undefined || now - announcedAt >= ANNOUNCED_PAUSE_MS || announcedAt > now;
}
