import pg from 'pg';

/** Rows of one statement. */
const STEP = 500_000;

/**
 * Fills what a budget of each session has counted up to `count` sessions that have ended, each of which has spent something, and brings
 * statistics up to date. `databaseUrl` is that of the owner.
 */
export async function seedSessions(databaseUrl: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query("SELECT count(*)::int AS present FROM billing.budget_value WHERE value LIKE 'ended-%'");
    for (let from = rows[0].present; from < count; from += STEP) {
      // Names are random, as those of agents are, so that the index is as it grows in use.
      await client.query(
        `INSERT INTO billing.budget_value (budget_id, account_id, window_end, value, spent, held)
         SELECT b.id, b.account_id, b.window_end, 'ended-' || gen_random_uuid(), 45000000::numeric * number, 0
         FROM billing.budget b, generate_series($1::bigint, $2::bigint) number WHERE b.dimension = 'session' AND b.period = 'total'`,
        [from + 1, Math.min(from + STEP, count)],
      );
    }
    if (count <= rows[0].present) return;
    await client.query('VACUUM ANALYZE billing.budget_value');
    // Else the next measurement pays for writing the rows.
    await client.query('CHECKPOINT');
  } finally {
    await client.end();
  }
}
