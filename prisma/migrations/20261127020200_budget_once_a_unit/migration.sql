-- The same target may have a budget of money and one of tokens for a period. Budgets of money are as unique as before.
ALTER TABLE billing.budget
  ADD CONSTRAINT budget_once_a_unit UNIQUE USING INDEX budget_once_a_unit,
  DROP CONSTRAINT budget_once_a_target;
