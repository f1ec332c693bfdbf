import type { AuditEntry } from '#contracts/audit.js';
import { logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import { OWN_AUTHOR } from '../audit/own-author.js';

/** Freezes accounts, each for its reason. A frozen account keeps its reason. Returns the ids that were active. */
export async function freezeAccounts(
  connection: PgConnection,
  reasons: ReadonlyMap<string, string>,
  author = OWN_AUTHOR,
): Promise<string[]> {
  if (reasons.size === 0) return [];
  const { rows } = await connection.query<{ id: string; audit: AuditEntry }>(
    `WITH locked AS MATERIALIZED (
       SELECT a.id, r.reason FROM billing.account a JOIN unnest($1::uuid[], $2::text[]) AS r (id, reason) ON r.id = a.id
       WHERE a.status = 'active' ORDER BY a.id FOR NO KEY UPDATE OF a
     ), frozen AS (
       UPDATE billing.account a SET status = 'frozen', status_reason = locked.reason FROM locked WHERE a.id = locked.id
       RETURNING a.id, a.status_reason
     )
     SELECT id, billing.record_audit($3::jsonb, 'account.update', id, 'account/' || id, status_reason,
       '{"status": "active", "statusReason": null}', jsonb_build_object('status', 'frozen', 'statusReason', status_reason)) AS audit
     FROM frozen`,
    [[...reasons.keys()], [...reasons.values()], author.caller],
  );
  for (const { audit } of rows) logAudit(author, audit);
  return rows.map(({ id }) => id);
}
