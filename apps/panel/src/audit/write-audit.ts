import type { Prisma } from '#database/prisma-client.js';

/** The one who made a change, and where it came from. */
export interface Origin {
  /** `user/<id>`, `token/<id>`, `cli/<os-user>@<host>` or `anonymous`. */
  actor: string;
  actorName: string | null;
  /** `http`, or the NATS user of the caller. */
  via: string | null;
  ip: string | null;
  requestId: string | null;
}

/** A change, or a refusal. Never contains a secret. */
export interface AuditEntry {
  /** `<noun>.<verb>`: `member.update`. */
  action: string;
  accountId?: string | null;
  /** The changed row, as `<kind>/<id>`. */
  target: string;
  reason?: string;
  before?: object;
  after?: object;
}

/** Writes one row of the journal. Call it in the transaction of the change; the database refuses the change without it. */
export async function writeAudit(
  tx: Prisma.TransactionClient,
  origin: Origin,
  { action, accountId = null, target, reason = null, before, after }: AuditEntry,
) {
  const json = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value));
  await tx.$queryRaw`SELECT panel.record_audit(${json(origin)}::jsonb, ${action}, ${accountId}::uuid, ${target}, ${reason},
    ${json(before)}::jsonb, ${json(after)}::jsonb)`;
}
