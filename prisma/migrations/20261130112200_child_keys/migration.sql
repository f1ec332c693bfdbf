-- Budgets of each child key. A child key has a life of its own, so that they are totals.
ALTER TABLE billing.budget DROP CONSTRAINT budget_dimension_check;
ALTER TABLE billing.budget ADD CONSTRAINT budget_dimension_check
  CHECK (dimension ~ '^(user|client|session|agent|child|tag:[A-Za-z0-9][A-Za-z0-9._-]{0,63})$') NOT VALID;
ALTER TABLE billing.budget ADD CONSTRAINT budget_child_check CHECK (dimension <> 'child' OR (period = 'total' AND value IS NULL)) NOT VALID;
-- Child keys that were revoked before their end.
ALTER TABLE billing.api_key ADD COLUMN revoked_children text[] NOT NULL DEFAULT '{}';
