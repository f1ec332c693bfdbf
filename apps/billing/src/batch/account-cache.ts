import { CHILD } from '#contracts/billing/attribution.js';
import type { ExceededBudget, ReserveOutcome, ReserveRequest } from '#contracts/billing/holds.js';
import { readChildEnd } from '#contracts/rules/child-path.js';
import { parsePrice } from '#money/price-plan.js';
import { type AccountBudgets, type BudgetState, budgetTarget, findBudgets, valueKey } from '../budgets/budget.js';
import { isWithin } from '../calendar/budget-window.js';
import type { RateLimitState } from '../limits/rate-limit.js';
import { listTargets, type Payer, toPayer } from '../payer/payer.js';
import type { AccountState, Batch, BatchRows, BatchState, KeyState, OpenedHold, ProjectState } from './batch.js';
import { BatchClock } from './batch-clock.js';
import type { Hold } from './hold.js';

/** Maximum age of the time of a cached batch when its statement gets the account lock. */
export const MOMENT_TOLERANCE_MS = 250;

/**
 * Consecutive batches that must find an account unchanged, after one found it changed, before the next is decided from the cache. An account
 * that replicas share is usually changed, and a failed statement costs more than the lock.
 */
const UNCHANGED_BATCHES_MIN = 2;

/** An account takes about 1 kB and a hold 0.5 kB: at most 20 MB a lane. */
const ACCOUNTS_MAX = 10_000;
const HOLDS_MAX = 20_000;
/** A name takes at most 0.6 kB: 6 MB a lane. */
const EXCEEDED_MAX = 10_000;

/** An account that was not used for this long is not trusted: 32-bit transaction ids wrap around, so an old `xmin` could come back. */
const UNUSED_MAX_MS = 600_000;

/** The database refuses a cached batch that reserves an id of a detached month, and open holds are of none. */
const NONE: ReadonlySet<string> = new Set();

/** An account as the last batch of this lane left it. */
interface CachedAccount {
  state: AccountState;
  /** Batches that found the account unchanged since one found it changed; at least `UNCHANGED_BATCHES_MIN` if none did. */
  unchangedBatches: number;
  /** On the process's monotonic clock, in milliseconds. */
  usedAt: number;
  projects: Map<string, CachedProject>;
  /** By target. Only of accounts that have some. */
  budgets: Map<string, readonly BudgetState[]>;
  /** By target. Only of accounts that have some. */
  limits: Map<string, RateLimitState | null>;
  /** Open holds by id. Lease and meter change in the database, but only the reaper reads them. */
  holds: Map<string, Hold>;
}

interface CachedProject {
  state: ProjectState;
  keys: Map<string, KeyState>;
}

/**
 * State that the batches of one lane left in the database, so that the next can be decided without reading. The cache is not trusted: the
 * statement that writes a batch demands that the versions of its accounts and projects are unchanged. Every write of another transaction
 * changes one of them. When the version of an account has changed, all that is cached of the account is dropped.
 *
 * A cache belongs to one connection and is dropped with it: a restored database, or another server, may have the same versions for other
 * rows.
 */
export class AccountCache {
  readonly clock = new BatchClock();
  /** Least recently used first. */
  private readonly accounts = new Map<string, CachedAccount>();
  private holds = 0;
  /** Users and tags that a budget refused last: their next reserve takes the lock, which costs less than a statement that fails. */
  private readonly exceeded = new Set<string>();

  /**
   * Returns the state to decide the batch from. Undefined when any of it is not cached, and for cases that always take the lock: a sweep,
   * the reaper, items of services, a grant, a key or the window of a budget near its end.
   */
  readState({ settles, reserves, sweeps = [] }: Batch, now: number): BatchState | undefined {
    if (sweeps.length > 0 || settles.length + reserves.length === 0) return undefined;
    const accounts = new Map<string, AccountState>();
    const projects = new Map<string, ProjectState>();
    const holds = new Map<string, Hold>();
    const keys = new Map<string, KeyState>();
    const budgets = new Map<string, Map<string, readonly BudgetState[]>>();
    const limits = new Map<string, Map<string, RateLimitState | null>>();
    for (const { accountId, holdId, reason } of settles) {
      const account = this.usable(accountId, now);
      const hold = account?.holds.get(holdId);
      const project = hold && account?.projects.get(hold.projectId);
      // Items of services are few, and their services have rows that other accounts change.
      if (!account || !project || reason === 'lease-expired' || hold.service !== undefined) return undefined;
      if (!addBudgets(budgets, account, hold, now) || !addLimits(limits, account, hold)) return undefined;
      accounts.set(accountId, account.state);
      projects.set(hold.projectId, project.state);
      holds.set(holdId, hold);
    }
    for (const reserve of reserves) {
      const { accountId, projectId, keyId, holdId } = reserve;
      const account = this.usable(accountId, now);
      const project = account?.projects.get(projectId);
      const key = project?.keys.get(keyId);
      if (!account || !project || !key || account.holds.has(holdId) || reserve.item) return undefined;
      const payer = toPayer(reserve, key);
      const child = payer.attribution?.[CHILD];
      if (child !== undefined && readChildEnd(child) <= now + MOMENT_TOLERANCE_MS) return undefined;
      if (key.expiresAt <= now + MOMENT_TOLERANCE_MS || !addBudgets(budgets, account, payer, now)) return undefined;
      if (!addLimits(limits, account, payer) || this.isExceeded(budgets, payer)) return undefined;
      accounts.set(accountId, account.state);
      projects.set(projectId, project.state);
      keys.set(keyId, key);
    }
    return { now, accounts, projects, keys, budgets, limits, holds, settlements: new Map(), reaped: new Map(), detached: NONE };
  }

  /** Keeps what a committed batch read and wrote. `version` is that of the accounts in `rows`. */
  learn(
    batch: Batch,
    state: BatchState,
    rows: Omit<BatchRows, 'late' | 'tombstones' | 'forfeits' | 'events' | 'services'>,
    version: string | undefined,
  ): void {
    const touched = new Map<string, CachedAccount>();
    for (const account of state.accounts.values()) touched.set(account.accountId, this.take(account));
    for (const project of state.projects.values()) keepProject(touched.get(project.accountId), project);
    for (const [keyId, key] of state.keys) findProject(touched, state, key.projectId)?.keys.set(keyId, key);
    for (const [accountId, ofAccount] of state.budgets) keepBudgets(touched.get(accountId), ofAccount);
    for (const [accountId, ofAccount] of state.limits)
      for (const [targetId, limit] of ofAccount) touched.get(accountId)?.limits.set(targetId, limit);
    // An id of the batch is an open hold only if it was read as one.
    for (const { accountId, holdId } of [...batch.settles, ...batch.reserves]) touched.get(accountId)?.holds.delete(holdId);
    for (const hold of state.holds.values()) touched.get(hold.accountId)?.holds.set(hold.holdId, hold);

    for (const account of rows.accounts) (touched.get(account.accountId) as CachedAccount).state = { ...account, version };
    for (const project of rows.projects) keepProject(touched.get(project.accountId), project);
    for (const budget of rows.budgets) keepBudget(touched.get(budget.accountId), budget);
    for (const limit of rows.limits) touched.get(limit.accountId)?.limits.set(limit.targetId, limit);
    for (const { holdId } of rows.settled) touched.get(state.holds.get(holdId)?.accountId ?? '')?.holds.delete(holdId);
    for (const opened of rows.opened) touched.get(opened.reserve.accountId)?.holds.set(opened.reserve.holdId, toHold(opened, state));
    for (const account of touched.values()) this.put(account);
    this.evict();
  }

  /** Keeps which users and tags a budget has refused under the lock, and forgets those that were admitted. */
  learnExceeded({ budgets, keys }: BatchState, reserves: readonly ReserveRequest[], outcomes: readonly ReserveOutcome[]): void {
    for (const [position, reserve] of reserves.entries()) {
      for (const { budget, value } of findBudgets(budgets, toPayer(reserve, keys.get(reserve.keyId))))
        if (value !== undefined) this.exceeded.delete(valueKey(budget, value));
      const exceeded = findExceeded(outcomes[position] as ReserveOutcome);
      if (exceeded?.value !== undefined) this.exceeded.add(valueKey(exceeded, exceeded.value));
    }
    for (const oldest of this.exceeded) {
      if (this.exceeded.size <= EXCEEDED_MAX) return;
      this.exceeded.delete(oldest);
    }
  }

  /** True when a budget has refused the user or a tag of a reserve, and not admitted it since. */
  private isExceeded(budgets: BatchState['budgets'], payer: Payer): boolean {
    if (this.exceeded.size === 0) return false;
    return findBudgets(budgets, payer).some(({ budget, value }) => value !== undefined && this.exceeded.has(valueKey(budget, value)));
  }

  private usable(accountId: string, now: number): CachedAccount | undefined {
    const account = this.accounts.get(accountId);
    if (!account || account.unchangedBatches < UNCHANGED_BATCHES_MIN || performance.now() - account.usedAt > UNUSED_MAX_MS)
      return undefined;
    const { grant } = account.state.funds;
    return grant && grant.endsAt <= now + MOMENT_TOLERANCE_MS ? undefined : account;
  }

  /** Takes an account out of the cache. Its projects and holds are empty if another transaction wrote it. */
  private take(state: AccountState): CachedAccount {
    const cached = this.accounts.get(state.accountId);
    const usedAt = performance.now();
    const nothing = { projects: new Map(), budgets: new Map(), limits: new Map(), holds: new Map() };
    const fresh = { state, unchangedBatches: UNCHANGED_BATCHES_MIN, usedAt, ...nothing };
    if (!cached) return fresh;
    this.accounts.delete(state.accountId);
    this.holds -= cached.holds.size;
    if (cached.state.version !== state.version) return { ...fresh, unchangedBatches: 0 };
    return { ...cached, unchangedBatches: cached.unchangedBatches + 1, usedAt };
  }

  private put(account: CachedAccount): void {
    this.accounts.set(account.state.accountId, account);
    this.holds += account.holds.size;
  }

  private evict(): void {
    for (const [accountId, { holds }] of this.accounts) {
      if (this.accounts.size <= ACCOUNTS_MAX && this.holds <= HOLDS_MAX) return;
      this.accounts.delete(accountId);
      this.holds -= holds.size;
    }
  }
}

/** Keeps the known keys of a project while its version is unchanged. */
function keepProject(account: CachedAccount | undefined, state: ProjectState): void {
  const cached = account?.projects.get(state.projectId);
  if (cached && cached.state.version === state.version) cached.state = state;
  else account?.projects.set(state.projectId, { state, keys: new Map() });
}

/** Adds the budgets that a request counts in. False when some are not cached, or a window begins or ends near `now`. */
function addBudgets(
  budgets: Map<string, Map<string, readonly BudgetState[]>>,
  { state, budgets: cached }: CachedAccount,
  payer: Payer,
  now: number,
): boolean {
  if (!state.budgetCount) return true;
  const ofAccount = budgets.get(state.accountId) ?? new Map<string, readonly BudgetState[]>();
  budgets.set(state.accountId, ofAccount);
  return listTargets(payer).every((target) => {
    const ofTarget = cached.get(target);
    if (ofTarget) ofAccount.set(target, ofTarget);
    return ofTarget?.every((budget) => isWithin(budget, now, now + MOMENT_TOLERANCE_MS)) === true;
  });
}

function findExceeded(outcome: ReserveOutcome): ExceededBudget | undefined {
  return outcome.status === 'refused' && outcome.code === 'insufficient_balance' ? outcome.budget : undefined;
}

/** Adds the limits that a request counts towards. False when some are not cached. */
function addLimits(
  limits: Map<string, Map<string, RateLimitState | null>>,
  { state, limits: cached }: CachedAccount,
  payer: Payer,
): boolean {
  if (!state.limitCount) return true;
  const ofAccount = limits.get(state.accountId) ?? new Map<string, RateLimitState | null>();
  limits.set(state.accountId, ofAccount);
  return listTargets(payer).every((targetId) => {
    const limit = cached.get(targetId);
    if (limit !== undefined) ofAccount.set(targetId, limit);
    return limit !== undefined;
  });
}

function keepBudgets(account: CachedAccount | undefined, budgets: AccountBudgets): void {
  for (const [target, ofTarget] of budgets) account?.budgets.set(target, ofTarget);
}

function keepBudget(account: CachedAccount | undefined, changed: BudgetState): void {
  const target = budgetTarget(changed);
  const ofTarget = account?.budgets.get(target) ?? [];
  account?.budgets.set(
    target,
    ofTarget.map((budget) => (budget.budgetId === changed.budgetId ? changed : budget)),
  );
}

/** Undefined when the project of a key was not read with it. */
function findProject(touched: ReadonlyMap<string, CachedAccount>, state: BatchState, projectId: string): CachedProject | undefined {
  return touched.get(state.projects.get(projectId)?.accountId ?? '')?.projects.get(projectId);
}

function toHold({ reserve, planPart, grantId, leaseUntil, tokens }: OpenedHold, { now: createdAt, accounts, keys }: BatchState): Hold {
  const { holdId, accountId, projectId, keyId, amountPicoUsd, amountTokens, price, attribution } = reserve;
  const isBudgeted = accounts.get(accountId)?.budgetCount !== undefined;
  return {
    holdId,
    accountId,
    projectId,
    rootKeyId: keys.get(keyId)?.rootKeyId ?? keyId,
    createdAt,
    amount: BigInt(amountPicoUsd),
    planPart,
    grantId,
    price: parsePrice(price),
    meter: undefined, // never used: the settles of the reaper are not decided from the cache
    leaseUntil,
    ...(amountTokens !== undefined && { amountTokens }),
    ...(tokens !== undefined && { tokens, model: reserve.model }),
    ...(isBudgeted && attribution && { attribution }),
    ...(reserve.item && { service: reserve.item.service }),
  };
}
