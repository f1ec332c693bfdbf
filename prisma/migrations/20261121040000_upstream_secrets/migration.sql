-- Files in the inference-proxy's folder of secrets: an upstream's key (instead of a variable), and certificates (null: none).
ALTER TABLE catalog.upstream ADD COLUMN api_key_file text CHECK (api_key_file ~ '^\w[\w.-]*(/\w[\w.-]*){0,3}$');
ALTER TABLE catalog.upstream ADD CONSTRAINT upstream_one_key CHECK (api_key_env IS NULL OR api_key_file IS NULL);
ALTER TABLE catalog.upstream ADD COLUMN tls jsonb;
