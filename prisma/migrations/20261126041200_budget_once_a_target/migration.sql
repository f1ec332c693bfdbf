-- The same target may have a budget of a period for all requests, for each user and for values of tags. Budgets without a dimension are as
-- unique as before.
ALTER TABLE billing.budget
  ADD CONSTRAINT budget_once_a_target UNIQUE USING INDEX budget_once_a_target,
  DROP CONSTRAINT budget_once_a_period;
