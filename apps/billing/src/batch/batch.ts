import type { MoneyEventKind } from '#contracts/billing/events.js';
import type { ReserveOutcome, ReserveRequest, SettleOutcome, SettleReason, Settler, TokenUsage } from '#contracts/billing/holds.js';
import type { Charge, Funds, LateCharge } from '../balance/funds.js';
import type { BudgetState, Budgets, ValueChange, ValueCounts } from '../budgets/budget.js';
import type { MinuteWindow } from '../limits/minute-window.js';
import type { RateLimitState, RateLimits } from '../limits/rate-limit.js';
import type { Hold, ReapedHold } from './hold.js';
import type { ServiceState } from './service-state.js';

/** A request to end a hold. `lease-expired` comes from the reaper: it bills the meter reading, and only after lease and grace. */
export interface Settle {
  holdId: string;
  accountId: string;
  reason: SettleReason;
  usage?: TokenUsage;
  upstream?: string;
  settledBy?: Settler;
  /** The service that asks: it ends holds of its own items alone. Absent: any hold. */
  service?: string;
  /** Trace context of a sampled caller. */
  traceparent?: string;
}

/** Requests that are decided together: settles before reserves. `sweeps` are accounts whose plan may be due to end. */
export interface Batch {
  settles: readonly Settle[];
  reserves: readonly ReserveRequest[];
  sweeps?: readonly string[];
}

/** Outcomes are in the order of the batch. */
export interface BatchOutcomes {
  settles: SettleOutcome[];
  reserves: ReserveOutcome[];
}

export interface AccountState {
  accountId: string;
  /** Id of the transaction that last wrote the row (`xmin`). Absent in tests without a database. */
  version?: string;
  active: boolean;
  openHolds: number;
  funds: Funds;
  /** Number of budgets of the account, its projects and its keys. Absent: none. Batches never write it. */
  budgetCount?: number;
  /** Number of its projects and keys with rate limits. Absent: none. Batches never write it. */
  limitCount?: number;
  /** Time of the last event that announced a refusal, in milliseconds. Absent: none. */
  announcedAt?: number;
}

export interface ProjectState {
  projectId: string;
  /**
   * Incremented by every change of its settings, and by every update or deletion of one of its keys. Absent in tests without a database.
   */
  version?: string;
  accountId: string;
  enabled: boolean;
  requestsPerMinuteMax: number;
  concurrencyMax: number;
  openHolds: number;
  requestWindow: MinuteWindow;
}

/** A key that is neither revoked nor disabled. */
export interface KeyState {
  projectId: string;
  /** First key of its rotations: the key itself if it was never rotated. */
  rootKeyId: string;
  /** Milliseconds from which on it is refused; infinity when it has no end. */
  expiresAt: number;
  /** Child keys that were revoked before their end. Absent: none. */
  revokedChildren?: readonly string[];
}

/** Everything that a batch is decided from: read under the lock of its accounts, or cached (`AccountCache`). */
export interface BatchState {
  /** The database's clock in milliseconds: read under the lock, or estimated (`BatchClock`). */
  now: number;
  accounts: ReadonlyMap<string, AccountState>;
  projects: ReadonlyMap<string, ProjectState>;
  /** Keys that are neither revoked nor disabled, by id. */
  keys: ReadonlyMap<string, KeyState>;
  /** Budgets that the holds and reserves of the batch count in, each in the window that contains `now`. */
  budgets: Budgets;
  /**
   * Counts of the users and tags that the holds and reserves of the batch count for. Absent: they were not read, and the statement that writes
   * the batch fails when one is above its limit.
   */
  values?: ValueCounts;
  /** Rate limits that the holds and reserves of the batch count towards. */
  limits: RateLimits;
  /** Open holds among the ids of the batch. */
  holds: ReadonlyMap<string, Hold>;
  /** Costs of the settled holds among the ids of the batch, late settlements included. */
  settlements: ReadonlyMap<string, bigint>;
  /** Services whose items the settled holds among the ids of the batch were for, by id. Absent: all were requests to models. */
  settledServices?: ReadonlyMap<string, string>;
  /** Settled holds that the reaper ended, without a late settlement. */
  reaped: ReadonlyMap<string, ReapedHold>;
  /** Ids of the batch that are of detached months. Their settlements are not known. */
  detached: ReadonlySet<string>;
  /** Services whose items the holds and reserves of the batch are for. Absent: all are requests to models. */
  services?: ReadonlyMap<string, ServiceState>;
}

export interface HoldTimes {
  leaseMs: number;
  /** Milliseconds from the end of a lease until the reaper may end the hold. */
  reaperGraceMs: number;
}

export interface OpenedHold {
  reserve: ReserveRequest;
  planPart: bigint;
  grantId: string | null;
  leaseUntil: number;
  /** Tokens that count towards a limit of tokens per minute until the hold is settled. Absent: there is no such limit. */
  tokens?: number;
}

export interface Settlement {
  holdId: string;
  accountId: string;
  reason: SettleReason;
  upstream: string | null;
  /** Null: the reaper, a release, or a service that this version does not know. */
  settledBy: Settler | null;
  cost: bigint;
  over: bigint;
  charge: Charge;
  usage: TokenUsage;
  /** `above` of the last step of the price that the prompt reached. Absent: none. */
  step?: number;
  /** False: the settle had no usage, and nothing is billed. */
  metered: boolean;
}

/** The late settlement of a hold that was reaped. */
export interface LateSettlement {
  settle: Settle;
  hold: ReapedHold;
  /** Cost less what the reaper billed; negative when it billed too much. */
  due: bigint;
  over: bigint;
  charge: LateCharge;
  usage: TokenUsage;
  /** As in `Settlement`. */
  step?: number;
  metered: boolean;
}

export interface Forfeit {
  accountId: string;
  grantId: string;
  amount: bigint;
}

/** A money event without what the database adds: id, number and time. */
export interface NewEvent {
  accountId: string;
  kind: MoneyEventKind;
  payload: Record<string, unknown>;
}

/** Rows that a batch writes. Accounts, projects, budgets and limits are the changed ones, with all their columns. */
export interface BatchRows {
  accounts: AccountState[];
  projects: ProjectState[];
  budgets: BudgetState[];
  values: ValueChange[];
  limits: RateLimitState[];
  services: ServiceState[];
  opened: OpenedHold[];
  settled: Settlement[];
  late: LateSettlement[];
  tombstones: Settle[];
  forfeits: Forfeit[];
  events: NewEvent[];
}

export interface Applied {
  rows: BatchRows;
  outcomes: BatchOutcomes;
}

/** Fields that tell a repeated reserve from another one with the same id. */
type Held = Pick<Hold, 'accountId' | 'projectId' | 'amount'>;

/** Working copy of the state of one fold, and the rows it will write. */
export interface BatchDraft {
  readonly now: number;
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly projects: ReadonlyMap<string, ProjectState>;
  readonly keys: ReadonlyMap<string, KeyState>;
  readonly budgets: BatchState['budgets'];
  /** Counts of users and tags before the batch. Absent: unknown. */
  readonly valuesBefore: ValueCounts | undefined;
  /** Changes that the batch makes to them, by `valueKey`. */
  readonly values: Map<string, ValueChange>;
  readonly limits: BatchState['limits'];
  readonly services: ReadonlyMap<string, ServiceState>;
  /** Open holds among the ids of the batch, before the batch. */
  readonly openBefore: ReadonlyMap<string, Hold>;
  /** Open holds among the ids of the batch, at this point of the fold: without those ended, with those opened. */
  readonly openNow: Map<string, Held>;
  /** Costs of the settled holds among the ids of the batch, including those that the batch settles. */
  readonly settlements: Map<string, bigint>;
  /** As in `BatchState`, before the batch. */
  readonly settledServices: ReadonlyMap<string, string> | undefined;
  readonly detached: BatchState['detached'];
  /** Holds that may be settled late, once. */
  readonly reaped: Map<string, ReapedHold>;
  readonly rows: Omit<BatchRows, 'accounts' | 'projects' | 'budgets' | 'values' | 'limits' | 'services'>;
  readonly changed: Set<object>;
}

/** The result of a batch, and the state it was decided from. */
export interface Committed extends Applied {
  state: BatchState;
  /** The reserves that `outcomes.reserves` answers. */
  reserves: readonly ReserveRequest[];
}
