-- The catalog checks the name of a dialect against its list. The database checks the form alone, so that a new dialect needs no migration.
ALTER TABLE catalog.upstream DROP CONSTRAINT upstream_kind_check;
ALTER TABLE catalog.upstream ADD CONSTRAINT upstream_kind_check CHECK (kind ~ '^[a-z][a-z-]{1,30}$') NOT VALID;
