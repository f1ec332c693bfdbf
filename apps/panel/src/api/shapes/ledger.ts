import type { LedgerCheckListReply, LedgerCheckReply, LedgerCounts, LedgerInvariant, LedgerViolation } from '#contracts/billing/ledger.js';

/**
 * `GET /ledger/checks?limit` replies `LedgerCheckListReply`. `POST /ledger/checks` replies one `LedgerCheckReply`, after seconds on a large
 * ledger.
 */
export type { LedgerCheckListReply, LedgerCheckReply, LedgerCounts, LedgerInvariant, LedgerViolation };
