-- online: finds the keys of a root. Most keys were never rotated.
CREATE INDEX CONCURRENTLY IF NOT EXISTS api_key_root_key_id ON billing.api_key (root_key_id) WHERE root_key_id IS NOT NULL;
