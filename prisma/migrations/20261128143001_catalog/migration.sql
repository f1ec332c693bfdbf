-- Models, prices, upstreams and routes. Rows are disabled, never deleted: old requests keep pointing at them.

CREATE SCHEMA catalog;

-- ==== content =========================================================================================================

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
  -- The dialects an upstream may speak.
  kind                  text NOT NULL CHECK (kind IN ('openai-chat', 'openai-responses', 'anthropic-messages')),
  base_url              text NOT NULL CHECK (base_url ~ '^https?://'),
  -- The name of a variable of the inference-proxy, never a secret.
  api_key_env           text CHECK (api_key_env ~ '^[A-Z_][A-Z0-9_]*$'),
  allow_private_network boolean NOT NULL,
  capabilities          jsonb NOT NULL,
  timeouts              jsonb NOT NULL,
  connections_max       integer NOT NULL CHECK (connections_max > 0),
  -- How the inference-proxy asks it whether it is well. Null: not at all.
  health_check          jsonb,
  -- Files in the inference-proxy's folder of secrets: the key, instead of a variable, and certificates. Null: none.
  api_key_file          text CHECK (api_key_file ~ '^\w[\w.-]*(/\w[\w.-]*){0,3}$'),
  tls                   jsonb,
  -- `off`, or the address of the forward proxy through which it is called. Null: that of the inference-proxy's environment.
  proxy                 text,
  -- Of the requests to it. Headers hold names of variables and files, never a secret.
  path                  text,
  query                 jsonb,
  headers               jsonb,
  CONSTRAINT upstream_one_key CHECK (api_key_env IS NULL OR api_key_file IS NULL)
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
  -- For people. Null: clients get the id.
  display_name          text CHECK (length(display_name) BETWEEN 1 AND 200),
  CONSTRAINT model_output_within_context CHECK (max_output_tokens BETWEEN 1 AND context_tokens),
  CONSTRAINT model_default_within_max CHECK (default_output_tokens BETWEEN 1 AND max_output_tokens)
);

-- Pico-USD a token. The highest version is the price of new requests; the others stay for the requests that were made under them.
CREATE TABLE catalog.price (
  model_id             text NOT NULL REFERENCES catalog.model (id),
  version              integer NOT NULL CHECK (version >= 1),
  input_price          bigint NOT NULL CHECK (input_price >= 0),
  cached_input_price   bigint NOT NULL CHECK (cached_input_price >= 0),
  output_price         bigint NOT NULL CHECK (output_price >= 0),
  created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Of a request and of an image. Null: none.
  request_price        bigint CHECK (request_price > 0),
  image_price          bigint CHECK (image_price > 0),
  -- Of a token that an upstream writes to its prompt cache, for 5 minutes and for an hour. Null: the input price; for an hour, the price for
  -- 5 minutes.
  cache_write_price    bigint CHECK (cache_write_price >= 0),
  cache_write_1h_price bigint CHECK (cache_write_1h_price >= 0),
  PRIMARY KEY (model_id, version)
);

-- A price that takes effect at a time. A row waits until it has a revision or is cancelled.
CREATE TABLE catalog.scheduled_price (
  id                   uuid PRIMARY KEY,
  model_id             text NOT NULL REFERENCES catalog.model (id),
  input_price          bigint NOT NULL CHECK (input_price >= 0),
  cached_input_price   bigint NOT NULL CHECK (cached_input_price >= 0),
  output_price         bigint NOT NULL CHECK (output_price >= 0),
  effective_at         timestamptz NOT NULL,
  created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The revision that it made at its time, or found with its price.
  revision             integer CHECK (revision > 0),
  cancelled_at         timestamptz,
  request_price        bigint CHECK (request_price > 0),
  image_price          bigint CHECK (image_price > 0),
  cache_write_price    bigint CHECK (cache_write_price >= 0),
  cache_write_1h_price bigint CHECK (cache_write_1h_price >= 0),
  CONSTRAINT scheduled_price_applied_or_cancelled CHECK (revision IS NULL OR cancelled_at IS NULL)
);

-- Prices of the accounts that name a plan: percent off the list prices, and prices of single models: a list of objects with the id of a model
-- and its price in pico-USD a token.
CREATE TABLE catalog.price_plan (
  id               text PRIMARY KEY,
  enabled          boolean NOT NULL,
  position         integer NOT NULL,
  discount_percent numeric(5, 2) NOT NULL CONSTRAINT price_plan_discount_is_a_part CHECK (discount_percent BETWEEN 0 AND 100),
  models           jsonb NOT NULL CONSTRAINT price_plan_models_is_a_list CHECK (jsonb_typeof(models) = 'array')
);

CREATE TABLE catalog.route (
  model_id        text NOT NULL REFERENCES catalog.model (id),
  upstream_id     text NOT NULL REFERENCES catalog.upstream (id),
  -- The model's name at the upstream.
  upstream_model  text NOT NULL,
  enabled         boolean NOT NULL,
  position        integer NOT NULL CHECK (position >= 0),
  weight          integer NOT NULL CHECK (weight > 0),
  priority        integer NOT NULL CHECK (priority >= 0),
  -- The most requests of one replica of the inference-proxy on it. Null: no limit but its upstream's.
  concurrency_max integer CHECK (concurrency_max > 0),
  -- Of the model there, instead of those of the upstream.
  capabilities    jsonb,
  PRIMARY KEY (model_id, upstream_id, upstream_model)
);

-- The YAML text that was applied last at a revision. catalog.audit has the author and the changes.
CREATE TABLE catalog.revision_text (
  revision integer PRIMARY KEY CHECK (revision >= 0),
  yaml     text NOT NULL
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
CREATE TRIGGER price_plan_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.price_plan
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE TRIGGER scheduled_price_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.scheduled_price
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE TRIGGER revision_text_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.revision_text
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();

-- ==== the audit journal ===============================================================================================

-- In the form of billing's: one row for each applied revision, written in its transaction.
CREATE TABLE catalog.audit (
  -- UUID v7 of `at`, so that the order of ids is the order of time.
  id         uuid PRIMARY KEY,
  at         timestamptz NOT NULL,
  -- `user/<id>`, `token/<id>`, `cli/<os-user>@<host>`, `nats/<user>` of a caller that named no actor, or `service/catalog`.
  actor      text NOT NULL,
  actor_name text,
  -- NATS user that the change came through.
  via        text,
  ip         text,
  request_id text,
  action     text NOT NULL,
  -- Always null: the catalog has no accounts.
  account_id uuid,
  -- `revision/<n>`. The guards below look for it.
  target     text NOT NULL,
  reason     text,
  before     jsonb,
  after      jsonb
);

CREATE INDEX audit_actor ON catalog.audit (actor, id);
CREATE INDEX audit_target ON catalog.audit (target);

-- One link for each audit row, in the order of the commits. The digest covers the row and the digest of the link before.
CREATE TABLE catalog.audit_link (
  sequence bigint PRIMARY KEY,
  audit_id uuid NOT NULL,
  digest   bytea NOT NULL
);

-- One row: the last link. Its row lock orders the commits, and it shows when the last rows of the journal are removed.
CREATE TABLE catalog.audit_head (
  sequence bigint NOT NULL,
  digest   bytea NOT NULL
);

INSERT INTO catalog.audit_head (sequence, digest) VALUES (0, '');

CREATE TRIGGER audit_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog.audit
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE TRIGGER audit_link_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog.audit_link
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();

-- Names the columns, so that a column added later does not change the digests of older rows.
CREATE FUNCTION catalog.audit_digest(previous bytea, entry catalog.audit) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(previous || convert_to(jsonb_build_array(entry.id, extract(epoch FROM entry.at), entry.actor, entry.actor_name, entry.via,
    entry.ip, entry.request_id, entry.action, entry.account_id, entry.target, entry.reason, entry.before, entry.after)::text, 'UTF8'))
$$;

-- With the rights of the owner: the services may not write links. Runs at the commit, so that the head is locked for the commit alone, and
-- not while the service that makes the change is waited for.
CREATE FUNCTION catalog.link_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  head catalog.audit_head;
BEGIN
  UPDATE catalog.audit_head h SET sequence = h.sequence + 1, digest = catalog.audit_digest(h.digest, NEW) RETURNING h.* INTO STRICT head;
  INSERT INTO catalog.audit_link (sequence, audit_id, digest) VALUES (head.sequence, NEW.id, head.digest);
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER audit_is_linked AFTER INSERT ON catalog.audit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.link_audit();

-- A UUIDv7: 48 bits of milliseconds, the version, 12 bits of microseconds, and random ones. Audit rows of one transaction sort in the order
-- in which it wrote them.
CREATE FUNCTION catalog.id_of(moment timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(overlay(uuid_send(gen_random_uuid())
    PLACING int8send((micros / 1000 << 16) | x'7000'::bigint | micros % 1000) FROM 1 FOR 8), 'hex')::uuid
  FROM (SELECT floor(extract(epoch FROM moment) * 1000000)::bigint AS micros) AS clock
$$;

-- Writes the audit row of a change, and returns it for the log. `caller` has actor, actorName, via, ip and requestId.
CREATE FUNCTION catalog.record_audit(caller jsonb, action text, account_id uuid, target text, reason text, before jsonb, after jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();
  id uuid := catalog.id_of(at);
BEGIN
  INSERT INTO catalog.audit (id, at, actor, actor_name, via, ip, request_id, action, account_id, target, reason, before, after)
  VALUES (id, at, caller ->> 'actor', caller ->> 'actorName', caller ->> 'via', caller ->> 'ip', caller ->> 'requestId', action, account_id,
    target, reason, before, after);
  RETURN jsonb_build_object('id', id, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor', caller -> 'actor',
    'actorName', caller -> 'actorName', 'via', caller -> 'via', 'ip', caller -> 'ip', 'requestId', caller -> 'requestId', 'action', action,
    'accountId', account_id, 'target', target, 'reason', reason, 'before', before, 'after', after);
END
$$;

-- Refuses the commit of a change without an audit row of the same transaction that names the revision. `xmin` is the transaction that
-- inserted a row; a row that was inserted after a savepoint is not found.
CREATE FUNCTION catalog.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM catalog.audit a JOIN catalog.state s ON a.target = 'revision/' || s.revision
      WHERE a.xmin = pg_current_xact_id()::xid) THEN
    RAISE EXCEPTION 'catalog.% was changed without an audit row', TG_TABLE_NAME
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Raise the revision and call catalog.record_audit in the same transaction.';
  END IF;
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER state_is_audited AFTER INSERT OR UPDATE OF revision OR DELETE ON catalog.state DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();
CREATE CONSTRAINT TRIGGER upstream_is_audited AFTER INSERT OR UPDATE OR DELETE ON catalog.upstream DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();
CREATE CONSTRAINT TRIGGER model_is_audited AFTER INSERT OR UPDATE OR DELETE ON catalog.model DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();
CREATE CONSTRAINT TRIGGER price_is_audited AFTER INSERT ON catalog.price DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();
CREATE CONSTRAINT TRIGGER price_plan_is_audited AFTER INSERT OR UPDATE OR DELETE ON catalog.price_plan DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();
CREATE CONSTRAINT TRIGGER route_is_audited AFTER INSERT OR UPDATE OR DELETE ON catalog.route DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();

-- Refuses the commit of a scheduled, applied or cancelled price without an audit row of the same transaction that names it or its revision.
CREATE FUNCTION catalog.demand_price_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM catalog.audit a WHERE a.target IN ('price/' || NEW.id, 'revision/' || NEW.revision)
      AND a.xmin = pg_current_xact_id()::xid) THEN
    RAISE EXCEPTION 'catalog.% was changed without an audit row', TG_TABLE_NAME
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Call catalog.record_audit in the same transaction.';
  END IF;
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER scheduled_price_is_audited AFTER INSERT OR UPDATE ON catalog.scheduled_price DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_price_audit();
