import type { ReserveOutcome, ReserveRequest, SettleOutcome, SettleReason, Settler, TokenUsage } from '#contracts/billing/holds.js';
import type { Charge, Funds, LateCharge } from '../ledger/funds.js';
import type { RequestWindow } from '../limits/request-window.js';
import type { Hold, ReapedHold } from './hold.js';

/** A request to end a hold. `lease-expired` is the reaper's: it bills the hold's meter, and only if the lease has run out. */
export interface Settle {
  holdId: string;
  accountId: string;
  reason: SettleReason;
  usage?: TokenUsage;
  upstream?: string;
  settledBy?: Settler;
}

/** What is decided together: settles before reserves. `sweeps` are accounts of which only the plan's end is looked at. */
export interface Batch {
  settles: readonly Settle[];
  reserves: readonly ReserveRequest[];
  sweeps?: readonly string[];
}

/** Outcomes stand in the order of the batch. */
export interface BatchOutcomes {
  settles: SettleOutcome[];
  reserves: ReserveOutcome[];
}

export interface AccountState {
  accountId: string;
  /** Id of the transaction that wrote the row last. Absent in tests that have no database. */
  version?: string;
  active: boolean;
  openHolds: number;
  funds: Funds;
  /** From where on its balance is low; absent where nobody wants to know. Never written. */
  lowBalance?: bigint;
}

export interface ProjectState {
  projectId: string;
  /** Rises with every change of the project's settings and keys. Absent in tests that have no database. */
  version?: string;
  accountId: string;
  enabled: boolean;
  requestsPerMinuteMax: number;
  concurrencyMax: number;
  openHolds: number;
  requestWindow: RequestWindow;
}

/** Everything a batch is decided from, read after its accounts were locked. */
export interface BatchState {
  /** The database's clock in milliseconds, read after the lock. */
  now: number;
  accounts: ReadonlyMap<string, AccountState>;
  projects: ReadonlyMap<string, ProjectState>;
  /** Project by id of each key that is not revoked. */
  keys: ReadonlyMap<string, string>;
  /** The open ones among the batch's ids. */
  holds: ReadonlyMap<string, Hold>;
  /** What the settled ones among the batch's ids have cost, late settlements included. */
  settlements: ReadonlyMap<string, bigint>;
  /** Those of them that the reaper ended and nobody has settled since. */
  reaped: ReadonlyMap<string, ReapedHold>;
}

export interface HoldTimes {
  leaseMs: number;
  /** How long after the end of its lease a hold may be reaped. */
  reaperGraceMs: number;
}

export interface OpenedHold {
  reserve: ReserveRequest;
  planPart: bigint;
  grantId: string | null;
  leaseUntil: number;
}

export interface Settlement {
  holdId: string;
  reason: SettleReason;
  upstream: string | null;
  /** Null: the reaper, or a caller that did not say. */
  settledBy: Settler | null;
  cost: bigint;
  over: bigint;
  charge: Charge;
  usage: TokenUsage;
  /** False: no usage came, nothing is billed. */
  metered: boolean;
}

/** What a request came to whose hold was reaped before it was settled. */
export interface LateSettlement {
  settle: Settle;
  hold: ReapedHold;
  /** Beyond what was billed; below zero, what was billed too much. */
  due: bigint;
  over: bigint;
  charge: LateCharge;
  usage: TokenUsage;
  metered: boolean;
}

export interface Forfeit {
  accountId: string;
  grantId: string;
  amount: bigint;
}

/** What a batch writes. Accounts and projects are the changed ones, whole. */
export interface BatchRows {
  accounts: AccountState[];
  projects: ProjectState[];
  opened: OpenedHold[];
  settled: Settlement[];
  late: LateSettlement[];
  tombstones: Settle[];
  forfeits: Forfeit[];
}

export interface Applied {
  rows: BatchRows;
  outcomes: BatchOutcomes;
}

/** What a batch came to, and what it was decided from. */
export interface Committed extends Applied {
  state: BatchState;
  /** Those that `outcomes.reserves` answers. */
  reserves: readonly ReserveRequest[];
}
