-- online: the key that knows the dimension and the value of a budget.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS budget_once_a_target ON billing.budget
  (account_id, project_id, key_id, dimension, value, period) NULLS NOT DISTINCT;
