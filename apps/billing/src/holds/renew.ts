import type { HoldRenewal } from '#contracts/billing/holds.js';
import { allOf, type PgConnection } from '#database/pg-connection.js';
import { billableUsage } from '../batch/hold.js';
import { KEY_IS_ACTIVE } from '../payer/key-status.js';
import { execute, plainArray } from '../sql/pipelined-query.js';

/** Result of a batch of renewals. Ids are in lower case. */
export interface Renewed {
  /** Renewed holds; true when the key, project and account may still call. */
  readonly mayCall: ReadonlyMap<string, boolean>;
  /** Ended requests that no service has settled: still open, or settled only by the reaper. */
  readonly unsettled: ReadonlySet<string>;
}

/**
 * A reading that is not newer, such as a repeated one, only extends the lease. Rows are locked in ascending order, as in batches, to avoid
 * deadlocks.
 */
const RENEW_HOLDS = {
  name: 'renew_holds',
  text: `WITH locked AS MATERIALIZED (
      SELECT id, key_id, project_id, account_id FROM billing.hold WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE
    )
    UPDATE billing.hold h SET lease_until = clock_timestamp() + $11 * interval '1 millisecond',
      meter_sequence = greatest(h.meter_sequence, r.sequence),
      meter_prompt_tokens = CASE WHEN r.sequence > h.meter_sequence THEN r.prompt_tokens ELSE h.meter_prompt_tokens END,
      meter_cached_tokens = CASE WHEN r.sequence > h.meter_sequence THEN r.cached_tokens ELSE h.meter_cached_tokens END,
      meter_cache_write_tokens = CASE WHEN r.sequence > h.meter_sequence THEN r.cache_write_tokens ELSE h.meter_cache_write_tokens END,
      meter_cache_write_1h_tokens = CASE WHEN r.sequence > h.meter_sequence THEN r.cache_write_1h_tokens ELSE h.meter_cache_write_1h_tokens END,
      meter_output_tokens = CASE WHEN r.sequence > h.meter_sequence THEN r.output_tokens ELSE h.meter_output_tokens END,
      meter_reasoning_tokens = CASE WHEN r.sequence > h.meter_sequence THEN r.reasoning_tokens ELSE h.meter_reasoning_tokens END,
      meter_prompt_source = CASE WHEN r.sequence > h.meter_sequence THEN r.prompt_source ELSE h.meter_prompt_source END,
      meter_output_source = CASE WHEN r.sequence > h.meter_sequence THEN r.output_source ELSE h.meter_output_source END
    FROM unnest($1::uuid[], $2::int4[], $3::int4[], $4::int4[], $5::int4[], $6::int4[], $7::text[], $8::text[],
          $9::int4[], $10::int4[])
        AS r (id, sequence, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, prompt_source, output_source, cache_write_tokens,
          cache_write_1h_tokens)
      JOIN locked l ON l.id = r.id
      LEFT JOIN billing.api_key k ON k.id = l.key_id
      LEFT JOIN billing.project p ON p.id = l.project_id
      LEFT JOIN billing.account a ON a.id = l.account_id
    WHERE h.id = r.id RETURNING h.id, ${KEY_IS_ACTIVE} AND p.enabled AND a.status = 'active' AS may_call`,
};

/** Open holds, and holds that only the reaper ended: a service with newer usage may still settle late. Each is looked for in its month. */
const NOT_SETTLED = {
  name: 'not_settled',
  text: `SELECT id FROM billing.hold WHERE id = ANY ($1::uuid[])
    UNION ALL
    SELECT e.hold_id FROM unnest($1::uuid[]) AS e (hold_id),
      LATERAL (SELECT FROM billing.settlement WHERE hold_id = e.hold_id AND reason = 'lease-expired' LIMIT 1) AS s
      LEFT JOIN LATERAL (SELECT hold_id FROM billing.late_settlement WHERE hold_id = e.hold_id LIMIT 1) AS l ON true
    WHERE l.hold_id IS NULL`,
};

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
    ...billableUsage(usage),
  }));
  try {
    const [, , renewed, open] = await allOf([
      connection.query('BEGIN'),
      connection.query('SET LOCAL synchronous_commit = off'),
      execute<{ id: string; may_call: boolean | null }>(connection, RENEW_HOLDS, [
        plainArray(readings.map((reading) => reading.holdId)),
        plainArray(readings.map((reading) => reading.sequence)),
        plainArray(readings.map((reading) => reading.promptTokens)),
        plainArray(readings.map((reading) => reading.cachedTokens)),
        plainArray(readings.map((reading) => reading.outputTokens)),
        plainArray(readings.map((reading) => reading.reasoningTokens)),
        readings.map((reading) => reading.promptSource),
        readings.map((reading) => reading.outputSource),
        plainArray(readings.map((reading) => reading.cacheWriteTokens ?? null)),
        plainArray(readings.map((reading) => reading.cacheWrite1hTokens ?? null)),
        leaseMs,
      ]),
      ended.length > 0 ? execute<{ id: string }>(connection, NOT_SETTLED, [plainArray(ended)]) : Promise.resolve(undefined),
      connection.query('COMMIT'),
    ]);
    return {
      mayCall: new Map(renewed.rows.map(({ id, may_call }) => [id, may_call === true])),
      unsettled: new Set(open?.rows.map(({ id }) => id)),
    };
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

function newestReadings(renewals: readonly HoldRenewal[]): Map<string, HoldRenewal> {
  const newest = new Map<string, HoldRenewal>();
  for (const renewal of renewals) {
    const other = newest.get(renewal.holdId);
    if (!other || renewal.sequence > other.sequence) newest.set(renewal.holdId, renewal);
  }
  return newest;
}
