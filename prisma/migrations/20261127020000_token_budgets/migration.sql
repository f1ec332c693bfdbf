-- Budgets of tokens, and the day on which the weeks or months of a budget begin.
--
-- Billing replicas of the version before count pico-USD in every budget, and begin weeks on Monday and months on the first: set the first
-- budget of tokens, or with another day, when they are replaced.
--
-- NOT VALID: the defaults satisfy the checks.

ALTER TABLE billing.budget
  -- Of `limit_amount`, `spent` and `held`, and of the rows of billing.budget_value: pico-USD or tokens.
  ADD COLUMN unit text NOT NULL DEFAULT 'usd',
  -- Of the week (1: Monday) or of the month.
  ADD COLUMN start_day smallint NOT NULL DEFAULT 1,
  ADD CONSTRAINT budget_unit_check CHECK (unit IN ('usd', 'tokens')) NOT VALID,
  ADD CONSTRAINT budget_start_day_check
    CHECK (start_day BETWEEN 1 AND CASE period WHEN 'week' THEN 7 WHEN 'month' THEN 28 ELSE 1 END) NOT VALID;

-- The most tokens that the request can use, which budgets of tokens hold. Null: the caller did not say.
ALTER TABLE billing.hold
  ADD COLUMN amount_tokens bigint,
  ADD CONSTRAINT hold_amount_tokens_not_negative CHECK (amount_tokens >= 0) NOT VALID;

CREATE TRIGGER budget_unit_writes_account AFTER UPDATE OF unit, start_day
  ON billing.budget FOR EACH ROW EXECUTE FUNCTION billing.count_budget();

CREATE CONSTRAINT TRIGGER budget_unit_is_audited AFTER UPDATE OF unit, start_day ON billing.budget DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN ((OLD.unit, OLD.start_day) IS DISTINCT FROM (NEW.unit, NEW.start_day)) EXECUTE FUNCTION billing.demand_audit('budget');
