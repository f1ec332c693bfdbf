-- A settlement that arrives after the reaper and comes to less gives the difference back: what the reaper billed was a meter reading,
-- an estimate until the upstream reports. Then due is below zero, and so are plan_cost and topup_cost: they go back to where the
-- settlement had taken them from. What it had taken from a grant that has ended since is forfeited: neither the customer's nor revenue.
ALTER TABLE billing.late_settlement
  -- Null: from before anything was given back.
  ADD COLUMN forfeit bigint CHECK (forfeit >= 0),
  DROP CONSTRAINT late_settlement_due_check,
  DROP CONSTRAINT late_settlement_plan_cost_check,
  DROP CONSTRAINT late_settlement_topup_cost_check,
  DROP CONSTRAINT late_settlement_within_held,
  DROP CONSTRAINT late_settlement_parts_are_the_due,
  ADD CONSTRAINT late_settlement_within_held CHECK (billed + due BETWEEN 0 AND held),
  ADD CONSTRAINT late_settlement_parts_are_the_due CHECK (plan_cost + topup_cost + writeoff - coalesce(forfeit, 0) = due),
  -- It charges or it gives back, never both.
  ADD CONSTRAINT late_settlement_goes_one_way CHECK (CASE WHEN due < 0 THEN plan_cost <= 0 AND topup_cost <= 0 AND writeoff = 0
    ELSE plan_cost >= 0 AND topup_cost >= 0 AND coalesce(forfeit, 0) = 0 END);
