import { EmptyRequest } from '../catalog.js';
import { Endpoint } from '../endpoint.js';

/** How many rows of each kind the snapshot had. */
export interface LedgerCounts {
  accounts: number;
  projects: number;
  grants: number;
  movements: number;
  openHolds: number;
  settlements: number;
  lateSettlements: number;
}

export interface LedgerInvariant {
  /** Of billing.md 2.4 up to `I8`. */
  id: string;
  /** In words. */
  rule: string;
  violations: number;
}

export interface LedgerViolation {
  /** Id of the invariant. */
  invariant: string;
  /** Id of the account, grant, hold, project or movement where it does not hold. */
  subject: string;
  /** Null: it is of no single account. */
  accountId: string | null;
}

export interface LedgerCheckReply {
  /** The moment of the snapshot. */
  checkedAt: string;
  milliseconds: number;
  checked: LedgerCounts;
  invariants: LedgerInvariant[];
  /** The first hundred of each invariant. None at all: the ledger is right. */
  violations: LedgerViolation[];
}

/** Reads everything and changes nothing. Takes seconds on a large ledger: ask with a time limit of minutes. */
export const ledgerCheck = new Endpoint<EmptyRequest, LedgerCheckReply>(
  'billing.v1.ledger.check',
  EmptyRequest,
  'Proves every invariant of the ledger in one snapshot, while traffic runs',
);
