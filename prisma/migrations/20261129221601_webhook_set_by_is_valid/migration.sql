-- online
ALTER TABLE billing.webhook VALIDATE CONSTRAINT webhook_set_by_check;
