import { IsBoolean, IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';
import type { Account } from './accounts.js';
import { Instant } from './fields.js';
import type { SettleReason } from './holds.js';

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
  /** `I1` to `I18`. */
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

export class LedgerCheckRequest {
  /** True: also reads closed months again, row by row. Default: starts from the sums of the last closed month. */
  @IsOptional() @IsBoolean() full?: boolean;
}

export interface LedgerCheckReply {
  /** Time of the snapshot. */
  checkedAt: string;
  milliseconds: number;
  /** True when closed months were read again. */
  full: boolean;
  checked: LedgerCounts;
  invariants: LedgerInvariant[];
  /** Digest of the last audit row, which covers all rows. Kept elsewhere, it shows when the whole journal was rewritten. */
  auditDigest: string;
  /** Digest of the last closed month, which covers all closed months. Empty without one. */
  monthDigest: string;
  /** The first hundred of each invariant. Empty: the ledger is correct. */
  violations: LedgerViolation[];
}

/** Freezes nothing. A full check takes minutes on a large ledger: call with such a timeout. */
export const ledgerCheck = new Endpoint<LedgerCheckRequest, LedgerCheckReply>('billing.v1.ledger.check', LedgerCheckRequest, {
  about: 'Checks every invariant of the ledger in one snapshot, while traffic runs',
  isRecorded: true,
});

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
  { about: 'Last reports of the ledger check, and frozen accounts' },
);

export class LedgerLossesRequest {
  /** Start, included. */
  @Instant() from!: string;
  /** End, excluded; at most 366 days after `from`. Default: now. */
  @IsOptional() @Instant() to?: string;
}

/** Sums of requests that did not pay all of their usage. What they paid and the losses add up to the usage. */
export interface LossSums {
  requests: number;
  /** Usage at the price of the hold. */
  usagePicoUsd: string;
  chargedPicoUsd: string;
  /** Usage beyond the holds. */
  overPicoUsd: string;
  /** Part of late settlements that the account, or a budget, did not have. */
  writtenOffPicoUsd: string;
}

/**
 * Losses of one day in UTC. A late settlement counts on its own day: it takes back what the reaper's settlement lost and adds what the whole
 * request did. So past days never change, and sums can be negative.
 */
export interface LossRow extends LossSums {
  day: string;
  model: string;
  /** Null: the settlement did not name one. */
  upstream: string | null;
  /** End of the requests. */
  reason: SettleReason;
}

export interface LedgerLossesReply {
  from: string;
  to: string;
  /** The largest loss first; at most 1,000. */
  rows: LossRow[];
  /** Rows that there are. */
  rowCount: number;
  /** The sum of all rows. */
  total: LossSums;
}

/** Reads the journal: seconds for each ten million settlements. */
export const ledgerLosses = new Endpoint<LedgerLossesRequest, LedgerLossesReply>('billing.v1.ledger.losses', LedgerLossesRequest, {
  about: 'Usage that no customer paid: beyond holds and written off, by day, model, upstream and end of the request',
});
