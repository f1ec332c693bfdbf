-- Models, prices, upstreams and routes. Rows are disabled, never deleted: old requests keep pointing at them.

CREATE SCHEMA IF NOT EXISTS catalog;

-- The one row whose lock makes applies take turns.
CREATE TABLE catalog.state (
  id                integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  -- Increases with every applied change.
  revision          integer NOT NULL DEFAULT 0 CHECK (revision >= 0),
  -- The catalog a service last brought from its file at a start, as a SHA-256: only a file that differs from it is applied at
  -- the next start, so that a restart never undoes what was applied by request since.
  start_file_digest text CHECK (start_file_digest ~ '^[0-9a-f]{64}$'),
  changed_at        timestamptz NOT NULL DEFAULT clock_timestamp()
);

INSERT INTO catalog.state (id) VALUES (1);

CREATE TABLE catalog.upstream (
  id                    text PRIMARY KEY,
  enabled               boolean NOT NULL,
  -- The order of the file; here and below.
  position              integer NOT NULL CHECK (position >= 0),
  kind                  text NOT NULL CHECK (kind IN ('openai-chat')),
  base_url              text NOT NULL CHECK (base_url ~ '^https?://'),
  -- The name of a variable of the inference-proxy, never a secret.
  api_key_env           text CHECK (api_key_env ~ '^[A-Z_][A-Z0-9_]*$'),
  allow_private_network boolean NOT NULL,
  capabilities          jsonb NOT NULL,
  timeouts              jsonb NOT NULL,
  connections_max       integer NOT NULL CHECK (connections_max > 0)
);

CREATE TABLE catalog.model (
  id                    text PRIMARY KEY,
  enabled               boolean NOT NULL,
  position              integer NOT NULL CHECK (position >= 0),
  owned_by              text NOT NULL,
  -- Unix seconds, as clients see it.
  created               bigint NOT NULL CHECK (created >= 0),
  context_tokens        integer NOT NULL CHECK (context_tokens > 0),
  max_output_tokens     integer NOT NULL,
  default_output_tokens integer NOT NULL,
  input                 text[] NOT NULL CHECK (input <@ ARRAY['text', 'image'] AND 'text' = ANY (input)),
  reasoning             boolean NOT NULL,
  tokens_per_image_max  integer NOT NULL CHECK (tokens_per_image_max > 0),
  CONSTRAINT model_output_within_context CHECK (max_output_tokens BETWEEN 1 AND context_tokens),
  CONSTRAINT model_default_within_max CHECK (default_output_tokens BETWEEN 1 AND max_output_tokens)
);

-- Pico-USD a token. The highest version is the price of new requests; the others stay for the requests that were made under them.
CREATE TABLE catalog.price (
  model_id           text NOT NULL REFERENCES catalog.model (id),
  version            integer NOT NULL CHECK (version >= 1),
  input_price        bigint NOT NULL CHECK (input_price >= 0),
  cached_input_price bigint NOT NULL CHECK (cached_input_price >= 0),
  output_price       bigint NOT NULL CHECK (output_price >= 0),
  created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (model_id, version)
);

CREATE TABLE catalog.route (
  model_id       text NOT NULL REFERENCES catalog.model (id),
  upstream_id    text NOT NULL REFERENCES catalog.upstream (id),
  -- The model's name at the upstream.
  upstream_model text NOT NULL,
  enabled        boolean NOT NULL,
  position       integer NOT NULL CHECK (position >= 0),
  weight         integer NOT NULL CHECK (weight > 0),
  priority       integer NOT NULL CHECK (priority >= 0),
  PRIMARY KEY (model_id, upstream_id, upstream_model)
);

-- A price that was ever charged stays as it was.
CREATE FUNCTION catalog.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'catalog.% keeps every row: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER price_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog.price
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE TRIGGER model_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.model
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE TRIGGER upstream_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.upstream
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE TRIGGER route_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.route
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
