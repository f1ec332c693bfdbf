import type { QueryResult } from 'pg';
import type { AuditEntry } from '#contracts/audit.js';
import { ServiceError } from '#contracts/service-error.js';
import { logAudit } from '#database/audit-journal.js';
import type { PgConnection } from '#database/pg-connection.js';
import type { PicoUsd } from '#money/pico-usd.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { underAccountLock } from '../sql/under-account-lock.js';

interface PlanGrant {
  /** Made by the caller, so that a repeated request is the same grant. */
  grantId: string;
  accountId: string;
  amount: PicoUsd;
  endsAt: Date;
  /** Names the grant within its account: the same key is granted once. */
  grantKey?: string;
}

interface Granted {
  granted: boolean;
  grantId: string;
  plan: bigint;
  endsAt: Date;
  /** The former grant, which this one ended, and the forfeited amount. */
  ended?: { grantId: string; amount: bigint };
}

/**
 * Replaces the plan of an account, in one round trip. The former grant ends now: its free part is forfeited, its held part stays with the
 * open holds. Repeating a grant changes nothing (`granted` false).
 * @throws {ServiceError} `not_found` for an unknown account, `conflict` when the key was used for another amount or end.
 */
export async function grantPlan(connection: PgConnection, grant: PlanGrant, author = OWN_AUTHOR): Promise<Granted> {
  const { grantId, accountId, amount, endsAt, grantKey = null } = grant;
  const key = grant.grantKey === undefined ? `grant:${grantId}` : `grant:${accountId}:${grant.grantKey}`;
  const [changed, result] = await underAccountLock(connection, accountId, () => [
    connection.query(GRANT, [accountId, String(amount), grantId, endsAt, key, author.caller, grantKey]) as Promise<QueryResult<Replaced>>,
    connection.query(READ_RESULT, [accountId, String(amount), endsAt, key]) as Promise<QueryResult<ResultRow>>,
  ]);
  const [row] = result.rows;
  if (!row) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
  if (!row.same) throw new ServiceError('conflict', 'This grant key was used before, with another amount or end.', 'grantKey');
  const [granted] = changed.rows;
  if (!granted) return { granted: false, grantId: row.grant_id, plan: BigInt(row.plan), endsAt: row.grant_ends_at };
  logAudit(author, granted.audit);
  const { ended_grant: endedGrant, forfeited } = granted;
  const ended = endedGrant === null ? undefined : { grantId: endedGrant, amount: BigInt(forfeited ?? 0) };
  return { granted: true, grantId, plan: BigInt(granted.plan), endsAt, ended };
}

/** Renders a column as an ISO 8601 time in UTC. */
const moment = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * Returns the statement that replaces the plan of account $1: amount $2, grant id $3, end $4, idempotency key $5, caller $6, reference in the
 * audit journal $7. It grants nothing unless `condition` holds.
 */
export function grantStatement(condition = 'true'): string {
  return `WITH former AS (
    SELECT id, plan, plan_held, grant_id, grant_ends_at FROM billing.account WHERE id = $1 AND ${condition}
  ), granted AS (
    INSERT INTO billing.movement (account_id, kind, amount, grant_id, grant_ends_at, idempotency_key)
    SELECT id, 'grant', $2, $3, $4, $5 FROM former
    ON CONFLICT (idempotency_key) DO NOTHING RETURNING *
  ), forfeited AS (
    INSERT INTO billing.movement (account_id, kind, amount, grant_id, idempotency_key)
    SELECT former.id, 'forfeit', former.plan - former.plan_held, former.grant_id, 'forfeit:' || former.grant_id
    FROM former JOIN granted ON granted.account_id = former.id WHERE former.grant_id IS NOT NULL
    RETURNING grant_id, amount
  ), changed AS (
    UPDATE billing.account a SET expired = a.expired + a.plan_held, plan = g.amount, plan_held = 0, grant_id = g.grant_id,
      grant_ends_at = g.grant_ends_at
    FROM granted g WHERE a.id = g.account_id RETURNING a.plan, g.id, g.account_id, g.grant_id, g.grant_ends_at
  )
  SELECT c.plan, f.grant_id AS ended_grant, f.amount AS forfeited,
    billing.record_audit($6::jsonb, 'plan.grant', c.account_id, 'movement/' || c.id, NULL,
      CASE WHEN b.grant_id IS NOT NULL THEN jsonb_build_object('grantId', b.grant_id, 'planBalancePicoUsd', b.plan::text,
        'expiresAt', ${moment('b.grant_ends_at')}, 'forfeitedPicoUsd', f.amount::text) END,
      jsonb_build_object('grantId', c.grant_id, 'planBalancePicoUsd', c.plan::text, 'expiresAt', ${moment('c.grant_ends_at')},
        'reference', $7::text)) AS audit
  FROM changed c JOIN former b ON b.id = c.account_id LEFT JOIN forfeited f ON true`;
}

const GRANT = grantStatement();

const READ_RESULT = `SELECT CASE WHEN a.grant_ends_at > clock_timestamp() THEN a.plan ELSE 0 END AS plan, m.grant_id, m.grant_ends_at,
    m.account_id = a.id AND m.amount = $2 AND m.grant_ends_at = $3 AS same
  FROM billing.account a LEFT JOIN billing.movement m ON m.idempotency_key = $4 WHERE a.id = $1`;

export interface Replaced {
  plan: string;
  /** Null: there was no former grant. */
  ended_grant: string | null;
  forfeited: string | null;
  audit: AuditEntry;
}

interface ResultRow {
  plan: string;
  grant_id: string;
  grant_ends_at: Date;
  /** Null: the key is new. */
  same: boolean | null;
}
