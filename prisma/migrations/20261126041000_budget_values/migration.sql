-- Budgets of end users and tags: one definition, and a row for each user or value of a tag that has spent or holds something.
--
-- Billing replicas of the version before do not count towards them: set the first when they are replaced.
--
-- NOT VALID: no existing budget has a dimension.

ALTER TABLE billing.budget
  -- Each value of this part of the attribution has the limit for itself. Null: all requests count together.
  ADD COLUMN dimension text,
  -- Only this value. Null: each.
  ADD COLUMN value text,
  ADD CONSTRAINT budget_dimension_check CHECK (dimension ~ '^(user|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$') NOT VALID,
  ADD CONSTRAINT budget_value_has_dimension CHECK (value IS NULL OR dimension IS NOT NULL) NOT VALID,
  -- Those with a dimension are counted in billing.budget_value.
  ADD CONSTRAINT budget_counts_in_one_place CHECK (dimension IS NULL OR (spent = 0 AND held = 0)) NOT VALID,
  -- A million users would be as many events.
  ADD CONSTRAINT budget_of_values_has_no_thresholds CHECK (dimension IS NULL OR (cardinality(thresholds) = 0 AND passed = 0)) NOT VALID;

-- Only billing changes it, in batches of the account and under the account's lock. Rows of a window that is over, or of a budget that is
-- removed, are deleted later: no foreign key, which would delete a million of them at once.
CREATE TABLE billing.budget_value (
  budget_id  uuid NOT NULL,
  account_id uuid NOT NULL,
  -- Names the window: its start can move when the clock is set back.
  window_end timestamptz NOT NULL,
  value      text COLLATE "C" NOT NULL,
  spent      numeric(38, 0) NOT NULL,
  held       numeric(38, 0) NOT NULL,
  PRIMARY KEY (budget_id, window_end, value),
  CONSTRAINT budget_value_spent_not_negative CHECK (spent >= 0),
  CONSTRAINT budget_value_held_not_negative CHECK (held >= 0)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02);
