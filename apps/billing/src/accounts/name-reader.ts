import type { Caller } from '#contracts/audit.js';
import { OPERATOR } from '#database/journal-reads.js';

/** Returns whose share a read counts in: that of the account for its own people, else the operator's. */
export function nameReader({ actor, level }: Caller, accountId: string | undefined): string {
  return level === 'customer' ? (accountId?.toLowerCase() ?? actor) : OPERATOR;
}
