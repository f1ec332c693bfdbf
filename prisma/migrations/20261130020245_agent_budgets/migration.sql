-- Budgets of each agent.
ALTER TABLE billing.budget DROP CONSTRAINT budget_dimension_check;
ALTER TABLE billing.budget ADD CONSTRAINT budget_dimension_check
  CHECK (dimension ~ '^(user|client|session|agent|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$') NOT VALID;
