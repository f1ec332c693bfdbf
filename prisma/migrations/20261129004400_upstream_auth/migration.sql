-- How the inference-proxy proves who it is, with names of variables and files, never a secret. Null: by the key, if there is one.
ALTER TABLE catalog.upstream ADD COLUMN auth jsonb;
-- Fields of the bodies of requests, beside or instead of those of the dialect. Null: none.
ALTER TABLE catalog.upstream ADD COLUMN body jsonb;
