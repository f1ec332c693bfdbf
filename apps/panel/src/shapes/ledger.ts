import type { AuditCheckReply } from '#contracts/audit.js';
import type { LedgerCheckListReply, LedgerCheckReply, LedgerInvariant } from '#contracts/billing/ledger.js';

/**
 * `GET /ledger/checks?limit` replies `LedgerCheckListReply`. `POST /ledger/checks` replies one `LedgerCheckReply`, after seconds on a large
 * ledger.
 */
export type { LedgerCheckListReply, LedgerCheckReply, LedgerInvariant };

/** `GET /ledger/journals`: the audit journals that the check of the ledger does not include, checked for this reply. */
export interface JournalCheckListReply {
  journals: JournalCheck[];
}

export interface JournalCheck extends AuditCheckReply {
  service: 'catalog' | 'panel';
}
