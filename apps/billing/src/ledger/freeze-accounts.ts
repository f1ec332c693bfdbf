import type { PgConnection } from '#database/pg-connection.js';

/** Freezes accounts, each for its reason. A frozen account keeps its reason. Returns the ids that were active. */
export async function freezeAccounts(connection: PgConnection, reasons: ReadonlyMap<string, string>): Promise<string[]> {
  if (reasons.size === 0) return [];
  const { rows } = await connection.query<{ id: string }>(
    `WITH locked AS MATERIALIZED (
       SELECT a.id, r.reason FROM billing.account a JOIN unnest($1::uuid[], $2::text[]) AS r (id, reason) ON r.id = a.id
       WHERE a.status = 'active' ORDER BY a.id FOR NO KEY UPDATE OF a
     )
     UPDATE billing.account a SET status = 'frozen', status_reason = locked.reason FROM locked WHERE a.id = locked.id RETURNING a.id`,
    [[...reasons.keys()], [...reasons.values()]],
  );
  return rows.map(({ id }) => id);
}
