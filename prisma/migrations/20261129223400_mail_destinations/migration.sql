-- `mail`: one sentence to the address of a `mailto:` URL, which the panel sends.
ALTER TABLE billing.webhook DROP CONSTRAINT webhook_format_check;
ALTER TABLE billing.webhook ADD CONSTRAINT webhook_format_check CHECK (format IN ('json', 'slack', 'mail')) NOT VALID;
