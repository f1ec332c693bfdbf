import type { PgConnection } from '#database/pg-connection.js';

/** One rule that does not hold, and where. */
export interface Violation {
  invariant: string;
  subject: string;
}

/**
 * Proves the invariants of billing.md 2.4 from the rows, in one snapshot, while traffic runs. Each query finds what
 * breaks its rule. Returns nothing when the ledger is right.
 */
export async function checkLedger(connection: PgConnection): Promise<Violation[]> {
  await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    const violations: Violation[] = [];
    for (const [invariant, sql] of Object.entries(INVARIANTS)) {
      const { rows } = await connection.query<{ subject: string }>(sql);
      violations.push(...rows.map(({ subject }) => ({ invariant, subject })));
    }
    return violations;
  } finally {
    await connection.query('ROLLBACK');
  }
}

const INVARIANTS = {
  'held money is the sum of the open holds': `
    SELECT a.id::text AS subject FROM billing.account a LEFT JOIN billing.hold h ON h.account_id = a.id GROUP BY a.id
    HAVING a.topup_held <> coalesce(sum(h.amount - h.plan_part), 0)
      OR a.plan_held <> coalesce(sum(h.plan_part) FILTER (WHERE h.grant_id = a.grant_id), 0)
      OR a.expired <> coalesce(sum(h.plan_part) FILTER (WHERE h.grant_id IS DISTINCT FROM a.grant_id), 0)
      OR a.open_holds <> count(h.id)`,
  'top-up money is what came in less what was charged': `
    SELECT a.id::text AS subject FROM billing.account a
    WHERE a.topup <> (SELECT coalesce(sum(amount), 0) FROM billing.movement WHERE account_id = a.id AND kind = 'topup')
      - (SELECT coalesce(sum(topup_cost), 0) FROM billing.settlement WHERE account_id = a.id)
      - (SELECT coalesce(sum(topup_cost), 0) FROM billing.late_settlement WHERE account_id = a.id)`,
  'a grant is what was charged, forfeited, and is left of it': `
    SELECT g.grant_id::text AS subject FROM billing.movement g JOIN billing.account a ON a.id = g.account_id
    WHERE g.kind = 'grant' AND g.amount <>
      (SELECT coalesce(sum(plan_cost), 0) FROM billing.settlement WHERE live_grant_id = g.grant_id)
      + (SELECT coalesce(sum(plan_cost), 0) FROM billing.late_settlement WHERE live_grant_id = g.grant_id)
      + (SELECT coalesce(sum(ended_cost + forfeit), 0) FROM billing.settlement WHERE grant_id = g.grant_id)
      + (SELECT coalesce(sum(amount), 0) FROM billing.movement WHERE kind = 'forfeit' AND grant_id = g.grant_id)
      + CASE WHEN a.grant_id = g.grant_id THEN a.plan
        ELSE (SELECT coalesce(sum(plan_part), 0) FROM billing.hold WHERE grant_id = g.grant_id) END`,
  'no hold is both open and settled': `
    SELECT h.id::text AS subject FROM billing.hold h JOIN billing.settlement s ON s.hold_id = h.id`,
  'a project counts its open holds': `
    SELECT p.id::text AS subject FROM billing.project p LEFT JOIN billing.hold h ON h.project_id = p.id GROUP BY p.id
    HAVING p.open_holds <> count(h.id)`,
  'only a reaped hold is settled late, for the rest of what it held': `
    SELECT l.hold_id::text AS subject FROM billing.late_settlement l LEFT JOIN billing.settlement s ON s.hold_id = l.hold_id
    WHERE (s.reason = 'lease-expired' AND s.account_id = l.account_id AND s.held = l.held AND s.cost = l.billed) IS NOT TRUE`,
  'no money appears or vanishes': `
    SELECT 'all accounts' AS subject
    WHERE (SELECT coalesce(sum(topup + plan + expired), 0) FROM billing.account)
      + (SELECT coalesce(sum(cost + forfeit), 0) FROM billing.settlement)
      + (SELECT coalesce(sum(plan_cost + topup_cost), 0) FROM billing.late_settlement)
      + (SELECT coalesce(sum(amount), 0) FROM billing.movement WHERE kind = 'forfeit')
      <> (SELECT coalesce(sum(amount), 0) FROM billing.movement WHERE kind IN ('topup', 'grant'))`,
};
