import type { ReserveOutcome, ReserveRequest } from '#contracts/billing/holds.js';
import { amountIn, type BudgetState, budgetsOf, inUnit, isOfAll, payerOf, renderMoment } from '../budgets/budget.js';
import { newlyPassed } from '../budgets/budget-thresholds.js';
import type { AccountState } from '../holds/batch.js';
import type { BatchDraft } from '../holds/batch-draft.js';
import { balanceOf } from '../ledger/funds.js';

/** Milliseconds in which at most one refusal of an account is an event. */
const REFUSAL_PAUSE_MS = 60_000;

/**
 * Adds the events that only a batch knows: thresholds that budgets have passed, and refusals for money. Triggers write those that the change
 * of a row tells. Budgets of users and tags have none: an account may have a million of them. Call when everything else is decided.
 */
export function decideEvents(draft: BatchDraft, reserves: readonly ReserveRequest[], outcomes: readonly ReserveOutcome[]): void {
  for (const ofAccount of draft.budgets.values())
    for (const budgets of ofAccount.values()) for (const budget of budgets.filter(isOfAll)) passThresholds(draft, budget);
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.status === 'refused' && outcome.code === 'insufficient_balance') {
      tellRefusal(draft, reserves[position] as ReserveRequest, outcome);
    }
  }
}

/** Depends on the sums alone, not on what this batch has added: so no threshold is missed that a replica without events has passed. */
function passThresholds(draft: BatchDraft, budget: BudgetState): void {
  const account = draft.accounts.get(budget.accountId);
  if (!account) return;
  for (const percent of newlyPassed(budget)) {
    budget.passed = percent;
    draft.changed.add(budget).add(account);
    draft.rows.events.push({ accountId: budget.accountId, kind: 'budget-threshold', payload: { percent, ...payloadOf(budget) } });
  }
}

type Unaffordable = Extract<ReserveOutcome, { code: 'insufficient_balance' }>;

/** A refusal is an event only if the request could not be covered even if nothing were held. */
function tellRefusal(draft: BatchDraft, reserve: ReserveRequest, { requiredPicoUsd, budget: exceeded }: Unaffordable): void {
  const account = draft.accounts.get(reserve.accountId);
  if (!account || !isDue(account, draft.now)) return;
  const usd = BigInt(requiredPicoUsd);
  const { accountId, funds } = account;
  if (exceeded) {
    const budget = budgetsOf(draft.budgets, payerOf(reserve, draft.keys.get(reserve.keyId))).find(
      ({ budgetId }) => budgetId === exceeded.budgetId,
    );
    if (!budget) return;
    const required = amountIn(budget, { usd, tokens: reserve.amountTokens ?? 0 });
    if (required <= budget.limit - budget.spent) return;
    const payload = { ...payloadOf(budget), ...inUnit(budget.unit, { required }) };
    draft.rows.events.push({ accountId, kind: 'budget-exhausted', payload });
  } else {
    const balance = balanceOf(funds);
    if (usd <= balance) return;
    draft.rows.events.push({ accountId, kind: 'balance-exhausted', payload: { balancePicoUsd: String(balance), requiredPicoUsd } });
  }
  account.refusedAt = draft.now;
  draft.changed.add(account);
}

/** A time in the future is that of a clock that was set back since. */
function isDue({ refusedAt }: AccountState, now: number): boolean {
  return refusedAt === undefined || now - refusedAt >= REFUSAL_PAUSE_MS || refusedAt > now;
}

/** Renders the budget of an event. */
export function payloadOf({ budgetId, projectId, keyId, period, unit, limit, spent, windowStart, windowEnd }: BudgetState) {
  return {
    ...{ budgetId, projectId, keyId, period, ...inUnit(unit, { limit, spent }) },
    ...{ windowStart: renderMoment(windowStart), resetsAt: renderMoment(windowEnd) },
  };
}
