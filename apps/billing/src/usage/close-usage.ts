import type { UsageRebuildReply } from '#contracts/billing/usage.js';
import type { PgConnection } from '#database/pg-connection.js';
import { inTransaction } from '../sql/transaction.js';
import { DETACHED_TO, DIMENSIONS, MEASURES, USAGE_ENTRIES } from './usage-entries.js';

/**
 * Adds the journal rows of all ended transactions to the rollups, in one transaction. Returns the time of the last slice, or
 * undefined when another replica adds one now.
 *
 * Each journal row has the id of its transaction. A snapshot's xmin is the oldest transaction that still runs: all below it have ended, so
 * the rows below it can neither increase nor change. Replicas take turns by the lock of `usage_state`. Only a statement after the lock sees
 * what the replica before has added, so the bounds are read after it. A statement that fails, or a killed process, leaves everything as it
 * was.
 */
export async function closeUsage(connection: PgConnection): Promise<Date | undefined> {
  return inTransaction(connection, async () => {
    const { rows } = await connection.query<{ closedTo: string; sameCluster: boolean }>(
      `SELECT closed_to::text AS "closedTo",
         system_identifier IS NOT DISTINCT FROM (SELECT system_identifier FROM pg_control_system()) AS "sameCluster"
       FROM billing.usage_state FOR UPDATE SKIP LOCKED`,
    );
    const [state] = rows;
    if (!state) return undefined;
    return state.sameCluster ? addSlice(connection, state.closedTo) : addEverything(connection);
  });
}

/**
 * Makes the rollups anew from the journal, in one transaction, from the first day on that lacks no rows of detached months. Waits for a replica
 * that is adding a slice. Returns the number of rows.
 */
export async function rebuildUsage(connection: PgConnection): Promise<Omit<UsageRebuildReply, 'milliseconds'>> {
  return inTransaction(connection, async () => {
    await connection.query('SELECT FROM billing.usage_state FOR UPDATE');
    await addEverything(connection);
    const { rows } = await connection.query<{ hours: number; days: number; from: Date | null }>(
      `SELECT (SELECT count(*)::int FROM billing.usage_hour) AS hours, (SELECT count(*)::int FROM billing.usage_day) AS days, ${DETACHED_TO} AS from`,
    );
    const [{ hours, days, from } = { hours: 0, days: 0, from: null }] = rows;
    return { hours, days, from: from?.toISOString() ?? null };
  });
}

async function addEverything(connection: PgConnection): Promise<Date> {
  const since = `coalesce(${DETACHED_TO}, '-infinity')`;
  await connection.query(`DELETE FROM billing.usage_hour WHERE hour >= ${since}`);
  await connection.query(`DELETE FROM billing.usage_day WHERE day >= ${since}`);
  await connection.query(
    `UPDATE billing.usage_state SET newest_at = (SELECT max(last_at) FROM billing.usage_day),
       system_identifier = (SELECT system_identifier FROM pg_control_system())`,
  );
  return addSlice(connection, '0', since);
}

/** Ids are below 2^63, as text. The bounds are literals of the plan, so that the index on `transaction_id` is used. */
async function addSlice(connection: PgConnection, closedTo: string, since = `'-infinity'`): Promise<Date> {
  const { rows } = await connection.query<{ xmin: string }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS xmin');
  const { rows: states } = await connection.query<{ closedAt: Date }>(addSliceSince(since), [closedTo, rows[0]?.xmin]);
  return states[0]?.closedAt as Date;
}

const addUp = (columns: readonly string[]): string => columns.map((column) => `sum(${column}) AS ${column}`).join(', ');

const insertInto = (table: string, start: string, from: string): string => `
  INSERT INTO billing.${table} (${[start, ...DIMENSIONS, ...MEASURES].join(', ')}, last_at)
  SELECT date_trunc('${start}', hour, 'UTC'), ${DIMENSIONS.join(', ')}, ${addUp(MEASURES)}, max(last_at)
  FROM ${from} GROUP BY 1, ${DIMENSIONS.join(', ')}
  ON CONFLICT (account_id, ${start}, project_id, key_id, model, upstream, ending) DO UPDATE SET
    ${MEASURES.map((column) => `${column} = ${table}.${column} + excluded.${column}`).join(', ')},
    last_at = greatest(${table}.last_at, excluded.last_at)`;

/** $1 and $2 are the bounds of the slice, the second excluded. */
const addSliceSince = (since: string): string => `
  WITH slice AS MATERIALIZED (
    SELECT date_trunc('hour', at, 'UTC') AS hour, ${DIMENSIONS.join(', ')}, ${addUp(MEASURES)}, max(at) AS last_at
    FROM ${USAGE_ENTRIES} entry WHERE transaction_id >= $1::bigint AND transaction_id < $2::bigint AND at >= ${since}
    GROUP BY 1, ${DIMENSIONS.join(', ')}
  ), hours AS (${insertInto('usage_hour', 'hour', 'slice')}), days AS (${insertInto('usage_day', 'day', 'slice')})
  UPDATE billing.usage_state SET closed_to = $2::bigint, newest_at = greatest(newest_at, (SELECT max(last_at) FROM slice)),
    closed_at = CASE WHEN closed_at IS NULL OR closed_to < $2::bigint THEN clock_timestamp() ELSE closed_at END
  RETURNING closed_at AS "closedAt"`;
