import type { AccountState, Batch, BatchRows, BatchState, OpenedHold, ProjectState } from './batch.js';
import { BatchClock } from './batch-clock.js';
import type { Hold } from './hold.js';

/** A batch that is decided from memory is at most so much older than the moment at which its account is locked. */
export const MOMENT_TOLERANCE_MS = 250;

/**
 * Batches in a row that found an account as the one before had left it, before the next is decided from memory. An account that replicas
 * share is mostly found changed: a statement that fails would cost more than the lock.
 */
const OWN_BATCHES_MIN = 2;

/** About 1 kB an account, and 0.5 kB a hold: at most some 20 MB a lane. */
const ACCOUNTS_MAX = 10_000;
const HOLDS_MAX = 20_000;

/** Ids of transactions come again after 2³² of them, which no server can do in so short a time. */
const UNUSED_MAX_MS = 600_000;

/** An account as the last batch of this lane left it. */
interface CachedAccount {
  state: AccountState;
  /** Batches in a row that found the account as the one before had left it. */
  ownBatches: number;
  /** By this process's own clock, in milliseconds. */
  usedAt: number;
  projects: Map<string, CachedProject>;
  /** Open ones, by id. Their leases and meter readings go on in the database: only the reaper asks for those. */
  holds: Map<string, Hold>;
}

interface CachedProject {
  state: ProjectState;
  /** Ids of keys that were not revoked. */
  keys: Set<string>;
}

/**
 * What one lane's batches have left in the database, so that the next can be decided without reading. Nothing here is trusted: the statement
 * that writes such a batch demands that the versions of its accounts and projects are still these. Whatever another one writes raises
 * them, so all that is known of an account is dropped with its version.
 *
 * It belongs to one connection and goes with it, since a database that was restored, or another server that took over, may have the same
 * versions for something else.
 */
export class AccountCache {
  readonly clock = new BatchClock();
  /** The least recently used first. */
  private readonly accounts = new Map<string, CachedAccount>();
  private holds = 0;

  /** Returns the state to decide the batch from; undefined when a part of it is not cached, or is rare, such as an expired lease. */
  stateOf({ settles, reserves, sweeps = [] }: Batch, now: number): BatchState | undefined {
    if (sweeps.length > 0 || settles.length + reserves.length === 0) return undefined;
    const accounts = new Map<string, AccountState>();
    const projects = new Map<string, ProjectState>();
    const holds = new Map<string, Hold>();
    const keys = new Map<string, string>();
    for (const { accountId, holdId, reason } of settles) {
      const account = this.usable(accountId, now);
      const hold = account?.holds.get(holdId);
      const project = hold && account?.projects.get(hold.projectId);
      if (!account || !project || reason === 'lease-expired') return undefined;
      accounts.set(accountId, account.state);
      projects.set(hold.projectId, project.state);
      holds.set(holdId, hold);
    }
    for (const { accountId, projectId, keyId, holdId } of reserves) {
      const account = this.usable(accountId, now);
      const project = account?.projects.get(projectId);
      if (!account || !project?.keys.has(keyId) || account.holds.has(holdId)) return undefined;
      accounts.set(accountId, account.state);
      projects.set(projectId, project.state);
      keys.set(keyId, projectId);
    }
    return { now, accounts, projects, keys, holds, settlements: new Map(), reaped: new Map() };
  }

  /** Keeps what a committed batch has read and written. `version` is that of the accounts in `rows`. */
  learn(batch: Batch, state: BatchState, rows: Omit<BatchRows, 'late' | 'tombstones' | 'forfeits'>, version: string | undefined): void {
    const touched = new Map<string, CachedAccount>();
    for (const account of state.accounts.values()) touched.set(account.accountId, this.take(account));
    for (const project of state.projects.values()) keepProject(touched.get(project.accountId), project);
    for (const [keyId, projectId] of state.keys) projectOf(touched, state, projectId)?.keys.add(keyId);
    for (const { accountId, holdId } of [...batch.settles, ...batch.reserves]) touched.get(accountId)?.holds.delete(holdId);
    for (const hold of state.holds.values()) touched.get(hold.accountId)?.holds.set(hold.holdId, hold);

    for (const account of rows.accounts) (touched.get(account.accountId) as CachedAccount).state = { ...account, version };
    for (const project of rows.projects) keepProject(touched.get(project.accountId), project);
    for (const { holdId } of rows.settled) touched.get(state.holds.get(holdId)?.accountId ?? '')?.holds.delete(holdId);
    for (const opened of rows.opened) touched.get(opened.reserve.accountId)?.holds.set(opened.reserve.holdId, holdOf(opened));
    for (const account of touched.values()) this.put(account);
    this.evict();
  }

  private usable(accountId: string, now: number): CachedAccount | undefined {
    const account = this.accounts.get(accountId);
    if (!account || account.ownBatches < OWN_BATCHES_MIN || performance.now() - account.usedAt > UNUSED_MAX_MS) return undefined;
    const { grant } = account.state.funds;
    return grant && grant.endsAt <= now + MOMENT_TOLERANCE_MS ? undefined : account;
  }

  /** Takes out what is known of an account that was read as `state`: nothing, if another one has written it. */
  private take(state: AccountState): CachedAccount {
    const cached = this.accounts.get(state.accountId);
    const usedAt = performance.now();
    if (!cached) return { state, ownBatches: 0, usedAt, projects: new Map(), holds: new Map() };
    this.accounts.delete(state.accountId);
    this.holds -= cached.holds.size;
    if (cached.state.version !== state.version) return { state, ownBatches: 0, usedAt, projects: new Map(), holds: new Map() };
    return { ...cached, ownBatches: cached.ownBatches + 1, usedAt };
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

/** The keys that are known of a project stay known as long as its version does. */
function keepProject(account: CachedAccount | undefined, state: ProjectState): void {
  const cached = account?.projects.get(state.projectId);
  if (cached && cached.state.version === state.version) cached.state = state;
  else account?.projects.set(state.projectId, { state, keys: new Set() });
}

/** Undefined for a key's project that was not read with it. */
function projectOf(touched: ReadonlyMap<string, CachedAccount>, state: BatchState, projectId: string): CachedProject | undefined {
  return touched.get(state.projects.get(projectId)?.accountId ?? '')?.projects.get(projectId);
}

function holdOf({ reserve, planPart, grantId, leaseUntil }: OpenedHold): Hold {
  const { holdId, accountId, projectId, amountPicoUsd, price } = reserve;
  return {
    holdId,
    accountId,
    projectId,
    amount: BigInt(amountPicoUsd),
    planPart,
    grantId,
    price: {
      inputPicoUsd: BigInt(price.inputPicoUsd),
      cachedInputPicoUsd: BigInt(price.cachedInputPicoUsd),
      outputPicoUsd: BigInt(price.outputPicoUsd),
    },
    meter: undefined,
    leaseUntil,
  };
}
