-- online: proves the constraint of the migration before, in one pass that blocks neither reads nor writes.
ALTER TABLE billing.budget VALIDATE CONSTRAINT budget_of_each_value_has_no_thresholds;
