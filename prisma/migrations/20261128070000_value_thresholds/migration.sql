-- A budget of one user or of one value of a tag may have thresholds, one of each user or value still has none: a million users would be as
-- many events. Replicas of the version before write no events of these budgets: the next settlement that a later version writes tells them.
--
-- NOT VALID: the constraint that it replaces refused more.
ALTER TABLE billing.budget
  DROP CONSTRAINT budget_of_values_has_no_thresholds,
  ADD CONSTRAINT budget_of_each_value_has_no_thresholds
    CHECK (dimension IS NULL OR value IS NOT NULL OR (cardinality(thresholds) = 0 AND passed = 0)) NOT VALID;
