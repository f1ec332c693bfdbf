-- Budgets: limits on the cost of an account, a project or a key in a period, decided with the hold.
--
-- Billing replicas of the version before do not count holds in budgets: set the first budget when they are replaced.

CREATE TABLE billing.budget (
  id           uuid PRIMARY KEY,
  account_id   uuid NOT NULL REFERENCES billing.account (id),
  -- Null: the budget of the whole account.
  project_id   uuid REFERENCES billing.project (id),
  -- Null: the budget of the whole project.
  key_id       uuid REFERENCES billing.api_key (id),
  period       text NOT NULL CHECK (period IN ('day', 'week', 'month', 'total')),
  -- IANA name.
  time_zone    text NOT NULL,
  -- Pico-USD.
  limit_amount numeric(38, 0) NOT NULL CHECK (limit_amount >= 0),
  -- Cost of the requests whose hold was opened at or after `window_start`.
  spent        numeric(38, 0) NOT NULL,
  -- Their open holds.
  held         numeric(38, 0) NOT NULL,
  -- The current window. A period without windows has -infinity and infinity.
  window_start timestamptz NOT NULL,
  window_end   timestamptz NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT budget_spent_not_negative CHECK (spent >= 0),
  CONSTRAINT budget_held_not_negative CHECK (held >= 0),
  CONSTRAINT budget_window_in_order CHECK (window_start < window_end),
  CONSTRAINT budget_key_has_project CHECK (key_id IS NULL OR project_id IS NOT NULL),
  CONSTRAINT budget_once_a_period UNIQUE NULLS NOT DISTINCT (account_id, project_id, key_id, period)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Batches read budgets only of accounts that have some.
ALTER TABLE billing.account
  ADD COLUMN budget_count integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT account_budget_count_not_negative CHECK (budget_count >= 0);

-- Counts the budgets of an account. Each change of a budget also writes the account's row, so that no batch is decided from an older budget.
-- With the rights of the owner: the service may not write the count. `spent` and `held`, which batches write, are not named.
CREATE FUNCTION billing.count_budget() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE billing.account SET budget_count = budget_count + CASE TG_OP WHEN 'INSERT' THEN 1 WHEN 'DELETE' THEN -1 ELSE 0 END
  WHERE id = coalesce(NEW.account_id, OLD.account_id);
  RETURN NULL;
END
$$;

CREATE TRIGGER budget_writes_account AFTER INSERT OR DELETE OR UPDATE OF project_id, key_id, period, time_zone, limit_amount, window_start
  ON billing.budget FOR EACH ROW EXECUTE FUNCTION billing.count_budget();

CREATE CONSTRAINT TRIGGER budget_insert_is_audited AFTER INSERT OR DELETE ON billing.budget DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('budget');
CREATE CONSTRAINT TRIGGER budget_update_is_audited
  AFTER UPDATE OF id, account_id, project_id, key_id, period, time_zone, limit_amount, created_at
  ON billing.budget DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.id, OLD.account_id, OLD.project_id, OLD.key_id, OLD.period, OLD.time_zone, OLD.limit_amount, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.project_id, NEW.key_id, NEW.period, NEW.time_zone, NEW.limit_amount, NEW.created_at))
  EXECUTE FUNCTION billing.demand_audit('budget');
