import { endDueGrant } from '../ledger/funds.js';
import type { AccountState, BatchRows, BatchState, ProjectState } from './batch.js';
import type { Hold, ReapedHold } from './hold.js';

/** What a reserve that comes again is known by. */
export type Held = Pick<Hold, 'accountId' | 'projectId' | 'amount'>;

/** The working copy of one fold: what was read, changed step by step, and the rows gathered on the way. */
export interface BatchBook {
  readonly now: number;
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly projects: ReadonlyMap<string, ProjectState>;
  readonly keys: ReadonlyMap<string, string>;
  /** The holds a settle of this batch may end. */
  readonly holds: ReadonlyMap<string, Hold>;
  /** What is held under every open id among the batch's, those of this batch included. */
  readonly held: Map<string, Held>;
  /** Costs of the closed ones among the batch's ids, those of this batch included. */
  readonly settlements: Map<string, bigint>;
  /** Those that may be settled late, once. */
  readonly reaped: Map<string, ReapedHold>;
  readonly rows: Omit<BatchRows, 'accounts' | 'projects'>;
  readonly changed: Set<AccountState | ProjectState>;
}

/** Copies what a fold may change, and ends the grants whose time has come. */
export function openBook(state: BatchState): BatchBook {
  const book: BatchBook = {
    now: state.now,
    accounts: new Map(Array.from(state.accounts, ([id, account]) => [id, { ...account, funds: { ...account.funds } }])),
    projects: new Map(Array.from(state.projects, ([id, project]) => [id, { ...project }])),
    keys: state.keys,
    holds: state.holds,
    held: new Map(state.holds),
    settlements: new Map(state.settlements),
    reaped: new Map(state.reaped),
    rows: { opened: [], settled: [], late: [], tombstones: [], forfeits: [] },
    changed: new Set(),
  };
  for (const account of book.accounts.values()) {
    const forfeit = endDueGrant(account.funds, book.now);
    if (!forfeit) continue;
    book.rows.forfeits.push({ accountId: account.accountId, ...forfeit });
    book.changed.add(account);
  }
  return book;
}

export function rowsOf(book: BatchBook): BatchRows {
  return {
    accounts: [...book.accounts.values()].filter((account) => book.changed.has(account)),
    projects: [...book.projects.values()].filter((project) => book.changed.has(project)),
    ...book.rows,
  };
}
