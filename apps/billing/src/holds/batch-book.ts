import { endDueGrant } from '../ledger/funds.js';
import type { AccountState, BatchRows, BatchState, ProjectState } from './batch.js';
import type { Hold, ReapedHold } from './hold.js';

/** Fields that tell a repeated reserve from another one with the same id. */
export type Held = Pick<Hold, 'accountId' | 'projectId' | 'amount'>;

/** Working copy of the state of one fold, and the rows it will write. */
export interface BatchBook {
  readonly now: number;
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly projects: ReadonlyMap<string, ProjectState>;
  readonly keys: ReadonlyMap<string, string>;
  /** Holds that the settles of the batch may end. */
  readonly holds: ReadonlyMap<string, Hold>;
  /** Open holds among the ids of the batch, including those that it opens. */
  readonly held: Map<string, Held>;
  /** Costs of the closed holds among the ids of the batch, including those that it closes. */
  readonly settlements: Map<string, bigint>;
  /** Holds that may be settled late, once. */
  readonly reaped: Map<string, ReapedHold>;
  readonly rows: Omit<BatchRows, 'accounts' | 'projects'>;
  readonly changed: Set<AccountState | ProjectState>;
}

/** Copies the state, and ends every plan grant that is due. */
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
