-- online
ALTER TABLE catalog.upstream VALIDATE CONSTRAINT upstream_kind_check;
