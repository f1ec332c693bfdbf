import { CHILD } from '#contracts/billing/attribution.js';
import type { ReserveOutcome, ReserveRequest, SettleOutcome, TokenUsage } from '#contracts/billing/holds.js';
import { isBelowChild, listChain, readChildEnd } from '#contracts/rules/child-path.js';
import { HOLD_MAX } from '#money/price.js';
import {
  charge,
  chargeLate,
  endDueGrant,
  giveBack,
  type HeldParts,
  type LateCharge,
  returnHold,
  sumAvailable,
  takeHold,
} from '../balance/funds.js';
import { type AccountBudgets, type CountingBudget, countsSession, findBudgets } from '../budgets/budget.js';
import { type AccountRateLimits, Admission, correctTokens, endInLimits, findLimits, type RateLimitState } from '../limits/rate-limit.js';
import { toPayer } from '../payer/payer.js';
import type {
  AccountState,
  Applied,
  Batch,
  BatchDraft,
  BatchRows,
  BatchState,
  HoldTimes,
  KeyState,
  ProjectState,
  Settle,
} from './batch.js';
import { type Amounts, type BudgetUse, computeLeft, countInBudgets, exceededBudget, findHoldBudgets, listUses } from './count-budgets.js';
import { correctInService, countInService, findCeiling, leftInService } from './count-services.js';
import { decideEvents } from './decide-events.js';
import { billedUsage, costWithin, type Hold, type ReapedHold, sumTokens } from './hold.js';

/**
 * Decides a batch as if its parts came one after another: due plan ends, then settles, then reserves. Pure: it leaves the state unchanged,
 * and equal input gives equal rows. Constraints of the tables check the rows again.
 */
export function foldBatch(state: BatchState, batch: Batch, times: HoldTimes): Applied {
  const draft = copyState(state);
  endDueGrants(draft);
  const settles = decideSettles(draft, batch.settles, times);
  const reserves = batch.reserves.map((reserve) => decideReserve(draft, reserve, times));
  decideEvents(draft, batch.reserves, reserves);
  return { rows: listRows(draft), outcomes: { settles, reserves } };
}

function endDueGrants(draft: BatchDraft): void {
  for (const account of draft.accounts.values()) {
    const forfeit = endDueGrant(account.funds, draft.now);
    if (!forfeit) continue;
    draft.rows.forfeits.push({ accountId: account.accountId, ...forfeit });
    draft.changed.add(account);
  }
}

/**
 * Ends holds, each once. A settled hold is `already`, with its recorded cost, whichever account asks; of a service only its own are, and all
 * others `unknown`. A hold that the reaper ended may be settled late, once. An open hold of another account is `unknown`. An id without any hold is `unknown` and gets a tombstone, so that a
 * reserve that arrives later is `closed`. An id of a detached month needs none: its reserves are `closed`.
 */
function decideSettles(draft: BatchDraft, settles: readonly Settle[], times: HoldTimes): SettleOutcome[] {
  // Settles of services go before those of the reaper.
  const byReaper = settles.map(({ reason }) => reason === 'lease-expired');
  const byServices = settles.map((settle, position) => (byReaper[position] ? undefined : endHold(draft, settle, times)));
  const outcomes = settles.map((settle, position) => byServices[position] ?? endHold(draft, settle, times));
  // All holds are returned before any is charged (see `returnHold`). Late settlements get what is left; those that give back come first, for budgets.
  for (const outcome of outcomes) if (typeof outcome === 'object' && 'parts' in outcome) chargeHold(draft, outcome);
  for (const givesBack of [true, false])
    for (const outcome of outcomes)
      if (typeof outcome === 'object' && 'reaped' in outcome && outcome.due < 0n === givesBack) recordLate(draft, outcome);
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
  step?: number;
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
    return late ?? (maySee(draft, settle) ? 'already' : 'unknown');
  }
  if (!account) return 'unknown';
  const hold = draft.openBefore.get(holdId);
  if (!hold) {
    if (byReaper || draft.detached.has(holdId)) return 'unknown';
    draft.settlements.set(holdId, 0n);
    draft.rows.tombstones.push(settle);
    return 'unknown';
  }
  if (hold.accountId !== account.accountId) return 'unknown';
  if (settle.service !== undefined && settle.service !== hold.service) return 'unknown';
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
  const limits = findLimits(draft.limits, hold);
  endInLimits(limits);
  countInService(draft, hold.service, { openHolds: -1, held: -hold.amount });
  for (const limit of limits) draft.changed.add(limit);
  draft.openNow.delete(holdId);
  draft.settlements.set(holdId, 0n); // a second settle in this batch is 'already'; chargeHold sets the cost
  return { settle, hold, account, parts, budgets };
}

/** False for a service and a settled hold that is not of its items: it learns no cost of others. */
function maySee({ openBefore, settledServices }: BatchDraft, { holdId, service }: Settle): boolean {
  return service === undefined || service === (openBefore.get(holdId)?.service ?? settledServices?.get(holdId));
}

function chargeHold(draft: BatchDraft, { settle, hold, account, parts, budgets }: EndedHold): void {
  const reported = settle.reason === 'lease-expired' ? hold.meter : settle.usage;
  const usage = billedUsage(hold, reported);
  const { cost, over, step } = costWithin(hold, usage);
  draft.settlements.set(hold.holdId, cost);
  if (hold.tokens !== undefined) {
    correctTokens(findLimits(draft.limits, hold), hold.model ?? '', hold.createdAt, sumTokens(usage) - hold.tokens);
  }
  const spent: Amounts = { usd: cost, tokens: sumTokens(usage) };
  countInBudgets(draft, budgets, account, { spent });
  countInService(draft, hold.service, { spent: cost });
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
    ...(step !== undefined && { step }),
    metered: reported !== undefined,
  });
}

/**
 * Takes a reaped hold for the first settle that asks for it; later ones are `already`. Money that the reaper billed too much goes back to
 * the account now; money still due is charged in `recordLate`.
 */
function takeReaped(draft: BatchDraft, settle: Settle, account: AccountState): PendingLateSettlement | undefined {
  const reaped = draft.reaped.get(settle.holdId);
  if (reaped?.accountId !== account.accountId) return undefined;
  if (settle.service !== undefined && settle.service !== reaped.service) return undefined;
  draft.reaped.delete(settle.holdId);
  const usage = billedUsage(reaped, settle.usage);
  const { cost, over, step } = costWithin(reaped, usage);
  const due = cost - reaped.billed;
  const priced = { usage, over, due, ...(step !== undefined && { step }) };
  return { settle, reaped, account, ...priced, ...(due < 0n && { returned: giveBack(account.funds, reaped.charged, -due) }) };
}

function recordLate(draft: BatchDraft, { settle, reaped, account, usage, over, step, due, returned }: PendingLateSettlement): void {
  const parts = returned ?? chargeLate(account.funds, due, leftForLate(draft, reaped));
  if (parts.planCost !== 0n || parts.topupCost !== 0n) draft.changed.add(account);
  const spent: Amounts = { usd: due - parts.writeoff, tokens: sumTokens(usage) - reaped.usedTokens };
  countInBudgets(draft, findHoldBudgets(draft.budgets, reaped), account, { spent });
  correctInService(draft, reaped.service, due - parts.writeoff, reaped.reapedAt);
  draft.settlements.set(settle.holdId, reaped.billed + due - parts.writeoff);
  const priced = { due, over, usage, ...(step !== undefined && { step }) };
  draft.rows.late.push({ settle, hold: reaped, ...priced, charge: parts, metered: settle.usage !== undefined });
}

/**
 * Returns what a late settlement may charge within the budgets of its hold and the day of its service; undefined when there are none. Nothing
 * when a window of the hold or its child key is over: what others spent in it is not known any more. Budgets of tokens only count: tokens that
 * were used cannot be written off.
 */
function leftForLate(draft: BatchDraft, reaped: ReapedHold): bigint | undefined {
  const ofMoney = listUses(draft, findBudgets(draft.budgets, reaped)).filter(({ budget }) => budget.unit === 'usd');
  const ofService = leftInService(draft, reaped.service);
  const isOpen = (use: BudgetUse): boolean => use.budget.windowStart <= reaped.createdAt && draft.now < use.windowEnd;
  const left = ofMoney.map((use) => (isOpen(use) ? computeLeft(use) : 0n));
  if (ofService !== undefined) left.push(ofService);
  return left.length > 0 ? left.reduce((least, amount) => (amount < least ? amount : least)) : undefined;
}

/**
 * Opens a hold or refuses it, checking in this order: key and child key, whether a limit of the session has a budget, limits per minute,
 * concurrency, funds, budgets, ceilings of its service. A reserve repeated while its hold is open gets `held` again, even if limits have changed; a
 * refused one is decided anew. A different
 * reserve under the id of an open hold is `closed`: its work would not be paid for. So is an id of a detached month, which may have been settled.
 */
function decideReserve(draft: BatchDraft, reserve: ReserveRequest, times: HoldTimes): ReserveOutcome {
  const { holdId } = reserve;
  const account = draft.accounts.get(reserve.accountId);
  const project = draft.projects.get(reserve.projectId);
  const open = draft.openNow.get(holdId);
  const amount = BigInt(reserve.amountPicoUsd);
  if (draft.settlements.has(holdId) || draft.detached.has(holdId)) return { status: 'closed', holdId };
  if (open) {
    const isSame = open.accountId === reserve.accountId && open.projectId === reserve.projectId && open.amount === amount;
    return isSame ? { status: 'held', holdId, leaseMs: reserve.leaseMs ?? times.leaseMs } : { status: 'closed', holdId };
  }

  if (!account || !project || !mayCall(draft, account, project, reserve)) return { status: 'refused', holdId, code: 'invalid_api_key' };
  if (!account.active) return { status: 'refused', holdId, code: 'account_frozen' };
  const payer = toPayer(reserve, draft.keys.get(reserve.keyId));
  const budgets = findBudgets(draft.budgets, payer);
  if (payer.attribution?.[CHILD] !== undefined && !budgets.some(delegates)) return { status: 'refused', holdId, code: 'invalid_api_key' };
  if (payer.sessionLimit !== undefined && !budgets.some(({ budget }) => countsSession(budget)))
    return { status: 'refused', holdId, code: 'no_session_budget' };
  const limits = findLimits(draft.limits, payer);
  const admission = new Admission(project, limits, account, reserve, draft.now);
  // Stored even if the reserve is refused. The version of the account tells other replicas that its rows have changed.
  for (const row of admission.storeAhead()) draft.changed.add(account).add(row);
  const full = admission.findFull();
  if (full) return { status: 'refused', holdId, ...full };
  const amounts: Amounts = { usd: amount, tokens: reserve.amountTokens ?? 0 };
  const tooMuch = findUncovered(amounts, sumAvailable(account.funds), listUses(draft, budgets));
  if (tooMuch) return { status: 'refused', holdId, ...tooMuch };
  const { item, leaseMs = times.leaseMs } = reserve;
  const ceiling = item && findCeiling(draft, item, amount);
  if (ceiling) return { status: 'refused', holdId, code: 'service_ceiling', ceiling };

  // Nothing below can fail.
  const parts = takeHold(account.funds, amount);
  account.openHolds += 1;
  admission.count();
  for (const row of [account, project, ...limits]) draft.changed.add(row);
  countInBudgets(draft, budgets, account, { held: amounts, mustFit: true });
  countInService(draft, item?.service, { openHolds: 1, held: amount });
  draft.openNow.set(holdId, { accountId: account.accountId, projectId: project.projectId, amount });
  const leaseUntil = draft.now + leaseMs;
  const tokens = admission.countsTokens && { tokens: reserve.tokensMax };
  draft.rows.opened.push({ reserve, planPart: parts.plan, grantId: parts.grantId, leaseUntil, ...tokens });
  return { status: 'held', holdId, leaseMs, ...admission.left() };
}

function findUncovered(amounts: Amounts, available: bigint, uses: readonly BudgetUse[]) {
  const { usd: amount } = amounts;
  const refusal = { code: 'insufficient_balance', requiredPicoUsd: String(amount), availablePicoUsd: String(available) } as const;
  // Above `HOLD_MAX` ($1M) no balance is enough.
  if (amount > available || amount > HOLD_MAX) return refusal;
  const budget = exceededBudget(uses, amounts);
  return budget && { ...refusal, budget };
}

function mayCall(draft: BatchDraft, account: AccountState, project: ProjectState, reserve: ReserveRequest): boolean {
  const key = draft.keys.get(reserve.keyId);
  if (key?.projectId !== project.projectId || key.expiresAt <= draft.now) return false;
  const child = reserve.attribution?.[CHILD];
  if (child !== undefined && !isChildActive(child, key, draft.now)) return false;
  return project.enabled && project.accountId === account.accountId;
}

/** True when no child key of the chain has ended or is revoked. */
function isChildActive(path: string, { revokedChildren = [] }: KeyState, now: number): boolean {
  return listChain(path).every((child) => now < readChildEnd(child)) && !revokedChildren.some((revoked) => isBelowChild(path, revoked));
}

/** True for a budget that lets keys have child keys: see `Delegation`. */
function delegates({ budget: { dimension, unit } }: CountingBudget): boolean {
  return dimension === CHILD && unit === 'usd';
}

function copyState(state: BatchState): BatchDraft {
  return {
    now: state.now,
    accounts: new Map(Array.from(state.accounts, ([id, account]) => [id, { ...account, funds: { ...account.funds } }])),
    projects: new Map(Array.from(state.projects, ([id, project]) => [id, { ...project }])),
    keys: state.keys,
    budgets: new Map(Array.from(state.budgets, ([id, ofAccount]) => [id, copyBudgets(ofAccount)])),
    valuesBefore: state.values,
    values: new Map(),
    limits: new Map(Array.from(state.limits, ([id, ofAccount]) => [id, copyLimits(ofAccount)])),
    services: new Map(Array.from(state.services ?? [], ([name, service]) => [name, { ...service }])),
    openBefore: state.holds,
    openNow: new Map(state.holds),
    settlements: new Map(state.settlements),
    settledServices: state.settledServices,
    detached: state.detached,
    reaped: new Map(state.reaped),
    rows: { opened: [], settled: [], late: [], tombstones: [], forfeits: [], events: [] },
    changed: new Set(),
  };
}

function copyBudgets(ofAccount: AccountBudgets): AccountBudgets {
  return new Map(Array.from(ofAccount, ([target, budgets]) => [target, budgets.map((budget) => ({ ...budget }))]));
}

function copyLimits(ofAccount: AccountRateLimits): AccountRateLimits {
  return new Map(Array.from(ofAccount, ([targetId, limit]) => [targetId, limit && { ...limit }]));
}

function listRows(draft: BatchDraft): BatchRows {
  return {
    accounts: [...draft.accounts.values()].filter((account) => draft.changed.has(account)),
    projects: [...draft.projects.values()].filter((project) => draft.changed.has(project)),
    budgets: [...draft.budgets.values()].flatMap((ofAccount) =>
      [...ofAccount.values()].flat().filter((budget) => draft.changed.has(budget)),
    ),
    values: [...draft.values.values()],
    services: [...draft.services.values()].filter((service) => draft.changed.has(service)),
    limits: [...draft.limits.values()].flatMap((ofAccount) =>
      [...ofAccount.values()].filter((row) => row !== null && draft.changed.has(row)),
    ) as RateLimitState[],
    ...draft.rows,
  };
}
