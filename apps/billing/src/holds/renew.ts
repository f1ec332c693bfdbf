import type { HoldRenewal, TokenUsage } from '#contracts/billing/holds.js';
import type { PgConnection } from '#database/pg-connection.js';
import { TOKENS } from '../batch/batch-changes.js';
import { billableUsage } from '../batch/hold.js';
import { CHILD_IS_ACTIVE, KEY_IS_ACTIVE } from '../payer/key-status.js';
import { type Columns, statement } from '../sql/statement.js';
import { inOneTrip } from '../sql/transaction.js';

/** Result of a batch of renewals. Ids are in lower case. */
export interface Renewed {
  /** Renewed holds; true when the key, project and account may still call. */
  readonly mayCall: ReadonlyMap<string, boolean>;
  /** Ended requests that no service has settled: still open, or settled only by the reaper. */
  readonly unsettled: ReadonlySet<string>;
}

interface Reading {
  holdId: string;
  sequence: number;
  usage: TokenUsage;
}

const READING: Columns<Reading> = { id: ['uuid', (row) => row.holdId], sequence: ['int4', (row) => row.sequence] };

/** Columns of a hold with the prefix `meter_`. */
const METER: Columns<Reading> = {
  ...TOKENS,
  cache_write_tokens: ['int4', ({ usage }) => usage.cacheWriteTokens],
  cache_write_1h_tokens: ['int4', ({ usage }) => usage.cacheWrite1hTokens],
  tier: ['text', ({ usage }) => usage.tier],
  prompt_source: ['text', ({ usage }) => usage.promptSource],
  output_source: ['text', ({ usage }) => usage.outputSource],
};

/**
 * A reading that is not newer, such as a repeated one, only extends the lease. Rows are locked in ascending order, as in batches, to avoid
 * deadlocks.
 */
const RENEW_HOLDS = statement<{ readings: Reading[]; leaseMs: number }, { id: string; may_call: boolean | null }>(
  'renew_holds',
  (inputs) => {
    const readings = inputs.rows({ ...READING, ...METER }, (renewal) => renewal.readings);
    const meter = Object.keys(METER).map(
      (name) => `meter_${name} = CASE WHEN r.sequence > h.meter_sequence THEN r.${name} ELSE h.meter_${name} END`,
    );
    return `WITH locked AS MATERIALIZED (
      SELECT id, key_id, project_id, account_id, attribution ->> 'child' AS child FROM billing.hold WHERE id = ANY (${readings.first}) ORDER BY id FOR UPDATE
    )
    UPDATE billing.hold h SET lease_until = clock_timestamp() + ${inputs.value(({ leaseMs }) => leaseMs)} * interval '1 millisecond',
      meter_sequence = greatest(h.meter_sequence, r.sequence), ${meter.join(', ')}
    FROM ${readings.as('r')}
      JOIN locked l ON l.id = r.id
      LEFT JOIN billing.api_key k ON k.id = l.key_id
      LEFT JOIN billing.project p ON p.id = l.project_id
      LEFT JOIN billing.account a ON a.id = l.account_id
    WHERE h.id = r.id RETURNING h.id, ${KEY_IS_ACTIVE} AND ${CHILD_IS_ACTIVE} AND p.enabled AND a.status = 'active' AS may_call`;
  },
);

/** Open holds, and holds that only the reaper ended: a service with newer usage may still settle late. Each is looked for in its month. */
const NOT_SETTLED = statement<readonly string[], { id: string }>('not_settled', (inputs) => {
  const ids = inputs.array('uuid', (holdIds) => holdIds);
  return `SELECT id FROM billing.hold WHERE id = ANY (${ids})
    UNION ALL
    SELECT e.hold_id FROM unnest(${ids}) AS e (hold_id),
      LATERAL (SELECT FROM billing.settlement WHERE hold_id = e.hold_id AND reason = 'lease-expired' LIMIT 1) AS s
      LEFT JOIN LATERAL (SELECT hold_id FROM billing.late_settlement WHERE hold_id = e.hold_id LIMIT 1) AS l ON true
    WHERE l.hold_id IS NULL`;
});

/**
 * Extends leases and keeps meter readings in one commit, and finds which of `ended` no service has settled. The commit does not wait for
 * the disk: the next renewal repeats a reading that a crash loses.
 */
export async function renewHolds(
  connection: PgConnection,
  renewals: readonly HoldRenewal[],
  leaseMs: number,
  ended: readonly string[] = [],
): Promise<Renewed> {
  const readings = [...newestReadings(renewals).values()].map(({ holdId, sequence, usage }) => ({
    holdId,
    sequence,
    usage: billableUsage(usage),
  }));
  const [, renewed, open] = await inOneTrip(connection, () => [
    connection.query('SET LOCAL synchronous_commit = off'),
    RENEW_HOLDS.execute(connection, { readings, leaseMs }),
    ended.length > 0 ? NOT_SETTLED.execute(connection, ended) : Promise.resolve(undefined),
  ]);
  return {
    mayCall: new Map(renewed.rows.map(({ id, may_call }) => [id, may_call === true])),
    unsettled: new Set(open?.rows.map(({ id }) => id)),
  };
}

function newestReadings(renewals: readonly HoldRenewal[]): Map<string, HoldRenewal> {
  const newest = new Map<string, HoldRenewal>();
  for (const renewal of renewals) {
    const other = newest.get(renewal.holdId);
    if (!other || renewal.sequence > other.sequence) newest.set(renewal.holdId, renewal);
  }
  return newest;
}
