import type { PgConnection } from '#database/pg-connection.js';

/** An hour is out of the ordinary when a project spends more than this many times its median hour, */
const TIMES_MEDIAN = 6;
/** and at least a dollar, in pico-USD: a test of a few cents is no news. */
const FLOOR = 1_000_000_000_000n;
/** The median is that of the hours with spend of the days before, */
const MEDIAN_DAYS = 7;
/** and is known after a day of such hours. */
const HOURS_MIN = 24;
/** Accounts that are locked by one statement. */
const ROWS_MAX = 500;

const HOUR = `to_char(s.hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Reads the rollups of the running hour and the one before, by the index on the hour. Ascending accounts, as every transaction that locks
 * several. A project has one such event for an hour.
 */
const ANNOUNCE_SPEND = `INSERT INTO billing.money_event (account_id, kind, payload)
  SELECT s.account_id, 'spend-unusual', jsonb_build_object('projectId', s.project_id, 'hour', ${HOUR},
    'spentPicoUsd', s.cost::text, 'medianPicoUsd', m.median::text)
  FROM (SELECT account_id, project_id, hour, sum(cost) AS cost FROM billing.usage_hour
      WHERE hour >= date_trunc('hour', clock_timestamp(), 'UTC') - interval '1 hour'
      GROUP BY account_id, project_id, hour HAVING sum(cost) >= ${FLOOR}) s,
    LATERAL (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY h.cost) AS median, count(*) AS hours
      FROM (SELECT sum(cost) AS cost FROM billing.usage_hour
        WHERE account_id = s.account_id AND project_id = s.project_id
          AND hour < s.hour AND hour >= s.hour - interval '${MEDIAN_DAYS} days'
        GROUP BY hour HAVING sum(cost) > 0) h) m
  WHERE m.hours >= ${HOURS_MIN} AND s.cost > ${TIMES_MEDIAN} * m.median
    AND NOT EXISTS (SELECT FROM billing.money_event e
      WHERE e.account_id = s.account_id AND e.kind = 'spend-unusual' AND e.created_at >= s.hour
        AND e.payload ->> 'projectId' = s.project_id::text AND e.payload ->> 'hour' = ${HOUR})
  ORDER BY s.account_id LIMIT ${ROWS_MAX}`;

/** Writes the events of projects that spend more than they ordinarily do. Call it from one replica at a time. */
export async function announceSpend(connection: PgConnection): Promise<void> {
  let rows = ROWS_MAX;
  while (rows === ROWS_MAX) rows = (await connection.query(ANNOUNCE_SPEND)).rowCount ?? 0;
}
