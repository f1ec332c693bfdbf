-- online
ALTER TABLE billing.webhook VALIDATE CONSTRAINT webhook_format_check;
