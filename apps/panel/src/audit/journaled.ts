import type { AuditEntry } from '#contracts/audit.js';
import { type AuditedChange, type Author, logAudit, recordAudit } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';

/** A change, or a refusal. Never contains a secret. */
export type JournalEntry = Pick<AuditedChange, 'action' | 'target'> & Partial<AuditedChange>;

/** Most rows of one kind in a transaction. One row with a count stands for all others: thousands would take longer than a transaction may. */
export const ROWS_MAX = 100;

/** Writes one row of the journal in the transaction of the change. */
export type WriteEntry = (entry: JournalEntry, author?: Author) => Promise<void>;

/**
 * Runs `work` in one transaction, with the function that writes its rows of the journal. The database refuses a change of people or rights
 * without one. The rows are logged after the commit.
 */
export async function journaled<Result>(
  prisma: PrismaClient,
  author: Author,
  work: (tx: Prisma.TransactionClient, record: WriteEntry) => Promise<Result>,
): Promise<Result> {
  const rows: AuditEntry[] = [];
  const result = await prisma.$transaction(async (tx) =>
    work(tx, async ({ accountId = null, reason = null, before = null, after = null, ...entry }, by = author) => {
      const row = await recordAudit(tx, 'panel', by, { ...entry, accountId, reason, before, after });
      if (row) rows.push(row);
    }),
  );
  for (const row of rows) logAudit(author, row);
  return result;
}

/** Writes a row that belongs to no change: a refusal. */
export function record(prisma: PrismaClient, author: Author, entry: JournalEntry): Promise<void> {
  return journaled(prisma, author, (_tx, write) => write(entry));
}

/** Returns the author of a person who has just been identified, on a public route. */
export function authorAs(author: Author, userId: string, email: string): Author {
  return { ...author, caller: { ...author.caller, actor: `user/${userId}`, actorName: email } };
}
