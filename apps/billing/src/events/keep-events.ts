import type { PgConnection } from '#database/pg-connection.js';
import { KEY_IS_ACTIVE } from '../payer/key-status.js';

/** Days before its end at which a key is announced. */
const KEY_EXPIRING_DAYS = 7;
/** Events that are delivered are kept for a replay. */
const KEPT_DAYS = 30;
/** Accounts that are locked, or events that are deleted, by one statement. */
const ROWS_MAX = 500;

/** An ISO 8601 time in UTC, as the replies have it. */
const EXPIRES_AT = `to_char(k.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Ascending accounts, as every transaction that locks several. A key has one such event for each end that it is given. */
const ANNOUNCE_KEYS = `INSERT INTO billing.money_event (account_id, kind, payload)
  SELECT p.account_id, 'key-expiring', jsonb_build_object('keyId', k.id, 'projectId', k.project_id, 'expiresAt', ${EXPIRES_AT})
  FROM billing.api_key k JOIN billing.project p ON p.id = k.project_id
  WHERE ${KEY_IS_ACTIVE} AND k.expires_at < clock_timestamp() + interval '${KEY_EXPIRING_DAYS} days' AND k.replaced_by IS NULL
    AND NOT EXISTS (SELECT FROM billing.money_event e
      WHERE e.kind = 'key-expiring' AND e.payload ->> 'keyId' = k.id::text AND e.payload ->> 'expiresAt' = ${EXPIRES_AT})
  ORDER BY p.account_id LIMIT ${ROWS_MAX}`;

/** Dead letters go with their events. */
const DELETE_OLD = `DELETE FROM billing.money_event WHERE id IN (
    SELECT e.id FROM billing.money_event e
    WHERE e.created_at < clock_timestamp() - interval '${KEPT_DAYS} days' AND e.published_at IS NOT NULL
      AND NOT EXISTS (SELECT FROM billing.webhook_delivery d WHERE d.account_id = e.account_id AND d.due_at IS NOT NULL AND d.done < e.sequence)
    LIMIT ${ROWS_MAX})`;

/** Writes the events of keys that will soon expire, and deletes old events. Call it from one replica at a time. */
export async function keepEvents(connection: PgConnection): Promise<void> {
  for (const statement of [ANNOUNCE_KEYS, DELETE_OLD]) {
    let rows = ROWS_MAX;
    while (rows === ROWS_MAX) rows = (await connection.query(statement)).rowCount ?? 0;
  }
}

/** Events that wait for their delivery, by destination. */
export interface UndeliveredEvents {
  nats: { count: number; oldestSeconds: number };
  webhooks: { count: number; oldestSeconds: number };
  deadLetters: number;
}

const COUNT_UNDELIVERED = `SELECT
    (SELECT json_build_object('count', count(*), 'oldestSeconds', coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0))
      FROM billing.money_event WHERE published_at IS NULL) AS nats,
    (SELECT json_build_object('count', coalesce(sum(d.last - d.done), 0),
        'oldestSeconds', coalesce(extract(epoch FROM clock_timestamp() - min(e.created_at)), 0))
      FROM billing.webhook_delivery d, LATERAL (SELECT created_at FROM billing.money_event
        WHERE account_id = d.account_id AND sequence > d.done ORDER BY sequence LIMIT 1) e
      WHERE d.due_at IS NOT NULL) AS webhooks,
    (SELECT count(*)::int FROM billing.dead_letter) AS "deadLetters"`;

export async function countUndelivered(connection: PgConnection): Promise<UndeliveredEvents> {
  const { rows } = await connection.query<UndeliveredEvents>(COUNT_UNDELIVERED);
  return rows[0] as UndeliveredEvents;
}
