import type { ReserveOutcome, ReserveRequest } from '#contracts/billing/holds.js';
import { HOLD_MAX } from '#money/price.js';
import { sumAvailable, takeHold } from '../balance/funds.js';
import { type Amounts, type BudgetUse, exceededBudget, findBudgets } from '../budgets/budget.js';
import { Admission } from '../limits/admission.js';
import { findLimits } from '../limits/rate-limit.js';
import { toPayer } from '../payer/payer.js';
import type { AccountState, HoldTimes, ProjectState } from './batch.js';
import { type BatchDraft, countInBudgets, type Held, listUses } from './batch-draft.js';

/**
 * Opens a hold or refuses it, checking in this order: key, limits per minute, concurrency, funds, budgets. A reserve repeated while its hold is
 * open gets `held` again, even if limits have changed; a refused one is decided anew. A different reserve under the id of an open hold is
 * `closed`: its work would not be paid for. So is an id of a detached month, which may have been settled.
 */
export function decideReserve(draft: BatchDraft, reserve: ReserveRequest, times: HoldTimes): ReserveOutcome {
  const { holdId } = reserve;
  const account = draft.accounts.get(reserve.accountId);
  const project = draft.projects.get(reserve.projectId);
  const held = draft.openNow.get(holdId);
  if (draft.settlements.has(holdId) || draft.detached.has(holdId)) return { status: 'closed', holdId };
  if (held && !isSame(held, reserve)) return { status: 'closed', holdId };
  if (held) return { status: 'held', holdId, leaseMs: times.leaseMs };

  if (!account || !project || !mayCall(draft, account, project, reserve)) return { status: 'refused', holdId, code: 'invalid_api_key' };
  if (!account.active) return { status: 'refused', holdId, code: 'account_frozen' };
  const payer = toPayer(reserve, draft.keys.get(reserve.keyId));
  const limits = findLimits(draft.limits, payer);
  const admission = new Admission(project, limits, account, reserve, draft.now);
  // Stored even if the reserve is refused. The version of the account tells other replicas that its rows have changed.
  for (const row of admission.storeAhead()) draft.changed.add(account).add(row);
  const full = admission.refuse();
  if (full) return { status: 'refused', holdId, ...full };
  const amount = BigInt(reserve.amountPicoUsd);
  const budgets = findBudgets(draft.budgets, payer);
  const amounts: Amounts = { usd: amount, tokens: reserve.amountTokens ?? 0 };
  const tooMuch = refuseAmount(amounts, sumAvailable(account.funds), listUses(draft, budgets));
  if (tooMuch) return { status: 'refused', holdId, ...tooMuch };

  // Nothing below can fail.
  const parts = takeHold(account.funds, amount);
  account.openHolds += 1;
  admission.count();
  for (const row of [account, project, ...limits]) draft.changed.add(row);
  countInBudgets(draft, budgets, account, { held: amounts, holds: true });
  draft.openNow.set(holdId, { accountId: account.accountId, projectId: project.projectId, amount });
  const leaseUntil = draft.now + times.leaseMs;
  const tokens = admission.countsTokens && { tokens: reserve.tokensMax };
  draft.rows.opened.push({ reserve, planPart: parts.plan, grantId: parts.grantId, leaseUntil, ...tokens });
  return { status: 'held', holdId, leaseMs: times.leaseMs, ...admission.left() };
}

function refuseAmount(amounts: Amounts, available: bigint, uses: readonly BudgetUse[]) {
  const { usd: amount } = amounts;
  const refusal = { code: 'insufficient_balance', requiredPicoUsd: String(amount), availablePicoUsd: String(available) } as const;
  // Above `HOLD_MAX` ($1M) no balance is enough.
  if (amount > available || amount > HOLD_MAX) return refusal;
  const budget = exceededBudget(uses, amounts);
  return budget && { ...refusal, budget };
}

function isSame(held: Held, { accountId, projectId, amountPicoUsd }: ReserveRequest): boolean {
  return held.accountId === accountId && held.projectId === projectId && held.amount === BigInt(amountPicoUsd);
}

function mayCall(draft: BatchDraft, account: AccountState, project: ProjectState, reserve: ReserveRequest): boolean {
  const key = draft.keys.get(reserve.keyId);
  if (key?.projectId !== project.projectId || key.expiresAt <= draft.now) return false;
  return project.enabled && project.accountId === account.accountId;
}
