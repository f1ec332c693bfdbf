import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { EmptyRequest } from '../catalog.js';
import { Endpoint } from '../endpoint.js';
import type { Account } from './accounts.js';

/** Row counts of the snapshot. */
export interface LedgerCounts {
  accounts: number;
  projects: number;
  grants: number;
  movements: number;
  openHolds: number;
  settlements: number;
  lateSettlements: number;
  auditEntries: number;
}

export interface LedgerInvariant {
  /** `I1` to `I14`. */
  id: string;
  rule: string;
  violations: number;
}

export interface LedgerViolation {
  /** Id of the invariant. */
  invariant: string;
  /** Id of the account, grant, hold, project or movement that violates it. */
  subject: string;
  /** Null when it belongs to no single account. */
  accountId: string | null;
}

export interface LedgerCheckReply {
  /** Time of the snapshot. */
  checkedAt: string;
  milliseconds: number;
  checked: LedgerCounts;
  invariants: LedgerInvariant[];
  /** Digest of the last audit row, which covers all rows. Kept elsewhere, it shows when the whole journal was rewritten. */
  auditDigest: string;
  /** The first hundred of each invariant. Empty: the ledger is correct. */
  violations: LedgerViolation[];
}

/** Reads everything and freezes nothing. Takes seconds on a large ledger: call with a timeout of minutes. */
export const ledgerCheck = new Endpoint<EmptyRequest, LedgerCheckReply>(
  'billing.v1.ledger.check',
  EmptyRequest,
  'Checks every invariant of the ledger in one snapshot, while traffic runs',
);

/** Reports of the ledger check that billing keeps. */
export const LEDGER_REPORTS_MAX = 100;

export class LedgerCheckListRequest {
  /** Default 20. */
  @IsOptional() @IsInt() @Min(1) @Max(LEDGER_REPORTS_MAX) limit?: number;
}

export interface LedgerCheckListReply {
  /** The last reports of all replicas, newest first. */
  checks: LedgerCheckReply[];
  /** Frozen accounts with their reasons, oldest first, at most 200. */
  frozen: Account[];
}

export const ledgerCheckList = new Endpoint<LedgerCheckListRequest, LedgerCheckListReply>(
  'billing.v1.ledger.check.list',
  LedgerCheckListRequest,
  'Last reports of the ledger check, and frozen accounts',
);
