-- online
ALTER TABLE billing.budget VALIDATE CONSTRAINT budget_dimension_check;
