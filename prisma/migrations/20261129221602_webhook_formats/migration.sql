-- Form of the messages of a webhook: `json`, the event itself, or `slack`, one sentence about it.
ALTER TABLE billing.webhook ADD COLUMN format text NOT NULL DEFAULT 'json';
ALTER TABLE billing.webhook ADD CONSTRAINT webhook_format_check CHECK (format IN ('json', 'slack')) NOT VALID;
