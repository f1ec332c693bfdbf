-- online: the key that knows the unit of a budget.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS budget_once_a_unit ON billing.budget
  (account_id, project_id, key_id, dimension, value, period, unit) NULLS NOT DISTINCT;
