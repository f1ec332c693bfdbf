import type { Account } from '#contracts/billing/accounts.js';
import type { LedgerCheckReply, LedgerCounts, LedgerInvariant, LedgerViolation } from '#contracts/billing/ledger.js';

/** `POST /ledger/checks` replies one `LedgerCheckReply`, after seconds on a large ledger. */
export type { LedgerCheckReply, LedgerCounts, LedgerInvariant, LedgerViolation };

/** `GET /ledger/checks?limit&cursor`: the last reports, newest first. */
export interface LedgerCheckListReply {
  checks: LedgerCheckReply[];
  /** Frozen accounts, with their reason. */
  frozen: Account[];
  nextCursor: string | null;
}
