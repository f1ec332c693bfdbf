-- Budgets of each session and each client.
ALTER TABLE billing.budget DROP CONSTRAINT budget_dimension_check;
ALTER TABLE billing.budget ADD CONSTRAINT budget_dimension_check
  CHECK (dimension ~ '^(user|client|session|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$') NOT VALID;
-- The lowest limit that the holds of a session have named. Null: that of the budget.
ALTER TABLE billing.budget_value ADD COLUMN own_limit numeric(38, 0);
