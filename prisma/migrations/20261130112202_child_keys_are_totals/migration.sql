-- online
ALTER TABLE billing.budget VALIDATE CONSTRAINT budget_child_check;
