-- Recomputes an account's row, and the hold counts of its projects, from the journals and the open holds. Repairs an account for which
-- `tollgate ledger check` reports I1, I2, I3 or I5, once the cause is known. Journals are not changed. Traffic may run.
--
--   psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -v account=<id> -f scripts/prisma/recount-account.sql
--
-- Prints the row before and after. If a constraint refuses the result (more is held than was paid and may be owed), credit money first:
-- `tollgate adjust`.

BEGIN;

-- Batches of the account wait from here; the statements below see all earlier commits.
SELECT topup, topup_held, plan, plan_held, expired, grant_id, open_holds FROM billing.account WHERE id = :'account' FOR NO KEY UPDATE;

WITH live AS (
  SELECT g.grant_id, g.grant_ends_at, g.amount
      - (SELECT coalesce(sum(plan_cost), 0) FROM billing.settlement WHERE account_id = :'account' AND live_grant_id = g.grant_id)
      - (SELECT coalesce(sum(plan_cost), 0) FROM billing.late_settlement WHERE account_id = :'account' AND live_grant_id = g.grant_id)
      - (SELECT coalesce(sum(gone), 0) FROM billing.detached_grant WHERE account_id = :'account' AND grant_id = g.grant_id) AS plan
  FROM billing.movement g
  WHERE g.account_id = :'account' AND g.kind = 'grant'
    AND NOT EXISTS (SELECT FROM billing.movement f WHERE f.kind = 'forfeit' AND f.account_id = g.account_id AND f.grant_id = g.grant_id)
), paid AS (
  SELECT coalesce(sum(CASE WHEN kind IN ('topup', 'credit', 'credit-note') THEN amount ELSE -amount END), 0)
      - (SELECT coalesce(sum(topup_cost), 0) FROM billing.settlement WHERE account_id = :'account')
      - (SELECT coalesce(sum(topup_cost), 0) FROM billing.late_settlement WHERE account_id = :'account')
      + (SELECT coalesce(sum(topup_change), 0) FROM billing.detached_account WHERE account_id = :'account') AS topup
  FROM billing.movement WHERE account_id = :'account' AND kind IN ('topup', 'credit', 'credit-note', 'refund', 'debit')
), held AS (
  SELECT coalesce(sum(h.amount - h.plan_part), 0) AS topup,
    coalesce(sum(h.plan_part) FILTER (WHERE h.grant_id = live.grant_id), 0) AS plan,
    coalesce(sum(h.plan_part) FILTER (WHERE h.grant_id IS DISTINCT FROM live.grant_id), 0) AS expired,
    count(h.id) AS holds
  FROM (SELECT) one LEFT JOIN live ON true LEFT JOIN billing.hold h ON h.account_id = :'account'
)
UPDATE billing.account a SET topup = paid.topup, topup_held = held.topup, plan = coalesce(live.plan, 0), plan_held = held.plan,
  expired = held.expired, grant_id = live.grant_id, grant_ends_at = live.grant_ends_at, open_holds = held.holds
FROM paid CROSS JOIN held LEFT JOIN live ON true
WHERE a.id = :'account'
RETURNING a.topup, a.topup_held, a.plan, a.plan_held, a.expired, a.grant_id, a.open_holds;

UPDATE billing.project p SET open_holds = (SELECT count(*) FROM billing.hold h WHERE h.project_id = p.id) WHERE p.account_id = :'account';

COMMIT;
