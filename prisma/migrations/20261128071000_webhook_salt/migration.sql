-- A secret that was once shown must not come back with its id: a salt is part of the secret of each webhook. Without a salt the secret is
-- the one that it was before this migration.

ALTER TABLE billing.webhook ADD COLUMN secret_salt text NOT NULL DEFAULT '';
