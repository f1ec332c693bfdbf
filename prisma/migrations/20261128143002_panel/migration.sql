-- People of the panel: who may sign in, what they may do, and what they did. Secrets are stored as SHA-256 digests: each has at least
-- 178 random bits, so a digest cannot be reversed. Passwords are stored as argon2id.

CREATE SCHEMA panel;

-- ==== people and rights ===============================================================================================

CREATE TABLE panel."user" (
  id              uuid PRIMARY KEY,
  email           text NOT NULL UNIQUE CHECK (email = lower(email) AND email ~ '^[^@[:space:]]+@[^@[:space:]]+$'),
  name            text NOT NULL,
  -- $argon2id$v=19$m=…,t=…,p=…$salt$hash. Null: the person has no password and signs in with a provider.
  password_hash   text CHECK (password_hash LIKE '$argon2id$%'),
  -- A disabled person cannot sign in, and their tokens are refused.
  disabled_at     timestamptz,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- True when the password was set by a link that the operator made for the person's e-mail. Any other password is removed when a provider
  -- vouches for that e-mail: the person who chose it may be another. False for passwords of version 0.1.0, which did not record it.
  password_proven boolean NOT NULL DEFAULT false
);

-- A role of a person: for the whole platform, or in one account.
CREATE TABLE panel."grant" (
  id         uuid PRIMARY KEY,
  user_id    uuid NOT NULL REFERENCES panel."user" (id),
  -- An account of billing. Null: the platform.
  account_id uuid,
  role       text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Issuer whose groups gave the role. Null: a person did. Sign-ins with an issuer change its own roles alone.
  issuer     text,
  CONSTRAINT grant_role_fits_scope
    CHECK (CASE WHEN account_id IS NULL THEN role IN ('admin', 'auditor') ELSE role IN ('owner', 'finance', 'developer', 'viewer') END)
);
-- One role a scope. Postgres treats two nulls as different, hence the constant.
CREATE UNIQUE INDEX grant_user_id_account_id ON panel."grant" (user_id, (coalesce(account_id, '00000000-0000-0000-0000-000000000000')));
CREATE INDEX grant_account_id ON panel."grant" (account_id);

-- A person as an issuer of OpenID Connect knows them. One subject of an issuer is one person, and a person is one subject of it: a provider
-- that gives an e-mail address to another subject does not give that subject the person.
CREATE TABLE panel.identity (
  id         uuid PRIMARY KEY,
  user_id    uuid NOT NULL REFERENCES panel."user" (id),
  issuer     text NOT NULL,
  subject    text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (issuer, subject),
  UNIQUE (user_id, issuer)
);

CREATE TABLE panel.session (
  id           uuid PRIMARY KEY,
  digest       bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  user_id      uuid NOT NULL REFERENCES panel."user" (id),
  address      text NOT NULL,
  user_agent   text,
  created_at   timestamptz NOT NULL,
  -- The last sign-in or confirmation with the password.
  confirmed_at timestamptz NOT NULL,
  -- Written once a minute.
  seen_at      timestamptz NOT NULL
);
CREATE INDEX session_user_id ON panel.session (user_id);

-- A one-time link that gives a role to the person who opens it.
CREATE TABLE panel.invite (
  id           uuid PRIMARY KEY,
  digest       bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  -- Null: the person who opens the link chooses it.
  email        text CHECK (email = lower(email)),
  account_id   uuid,
  role         text NOT NULL,
  -- True for the operator's invites: they set a new password for a person who exists already. Any other invite needs their password.
  sets_password boolean NOT NULL,
  invited_by   text NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  accepted_at  timestamptz,
  accepted_by  uuid REFERENCES panel."user" (id),
  CONSTRAINT invite_role_fits_scope
    CHECK (CASE WHEN account_id IS NULL THEN role IN ('admin', 'auditor') ELSE role IN ('owner', 'finance', 'developer', 'viewer') END)
);
CREATE INDEX invite_account_id ON panel.invite (account_id);

-- A credential for programs, with a list of permissions.
CREATE TABLE panel.token (
  id          uuid PRIMARY KEY,
  digest      bytea NOT NULL UNIQUE CHECK (length(digest) = 32),
  name        text NOT NULL,
  last_four   text NOT NULL,
  -- Null: the platform.
  account_id  uuid,
  permissions text[] NOT NULL CHECK (cardinality(permissions) > 0),
  created_by  uuid NOT NULL REFERENCES panel."user" (id),
  created_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL CHECK (expires_at <= created_at + interval '366 days'),
  revoked_at  timestamptz,
  -- Written once a minute.
  used_at     timestamptz
);
CREATE INDEX token_account_id ON panel.token (account_id);
CREATE INDEX token_created_by ON panel.token (created_by);

-- ==== sign-ins ========================================================================================================

-- Failed sign-ins of the last minutes, counted for all replicas. The e-mail is a digest, because people type passwords into that field.
CREATE TABLE panel.login_failure (
  id           uuid PRIMARY KEY,
  email_digest bytea NOT NULL,
  address      text NOT NULL,
  at           timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX login_failure_email_digest_at ON panel.login_failure (email_digest, at);
CREATE INDEX login_failure_address_at ON panel.login_failure (address, at);

-- Addresses from which a person has signed in. Failed sign-ins of others at such an address delay the person and do not lock them out.
CREATE TABLE panel.sign_in_address (
  user_id uuid NOT NULL REFERENCES panel."user" (id),
  -- An IPv4 address, or the /64 network of an IPv6 address.
  address text NOT NULL,
  -- The last sign-in.
  at      timestamptz NOT NULL,
  PRIMARY KEY (user_id, address)
);
CREATE INDEX sign_in_address_address_at ON panel.sign_in_address (address, at);

-- ==== the audit journal: in the form of billing's =====================================================================

CREATE TABLE panel.audit (
  -- UUID v7 of `at`, so that the order of ids is the order of time.
  id         uuid PRIMARY KEY,
  at         timestamptz NOT NULL,
  -- `user/<id>`, `token/<id>`, `cli/<os-user>@<host>`, `nats/<user>` of a caller that named no actor, or `anonymous` for a refused sign-in.
  actor      text NOT NULL,
  actor_name text,
  -- NATS user that the change came through; `http` for the panel's own API.
  via        text,
  ip         text,
  request_id text,
  action     text NOT NULL,
  account_id uuid,
  -- The changed row, as `<kind>/<id>`.
  target     text NOT NULL,
  reason     text,
  before     jsonb,
  after      jsonb
);

CREATE INDEX audit_account_id ON panel.audit (account_id, id);
CREATE INDEX audit_actor ON panel.audit (actor, id);

-- One link for each audit row, in the order of the commits. The digest covers the row and the digest of the link before.
CREATE TABLE panel.audit_link (
  sequence bigint PRIMARY KEY,
  audit_id uuid NOT NULL,
  digest   bytea NOT NULL
);

-- The last link. Its row lock orders the commits, and it shows when the last rows of the journal are removed.
CREATE TABLE panel.audit_head (
  id       integer PRIMARY KEY CHECK (id = 1),
  sequence bigint NOT NULL,
  digest   bytea NOT NULL
);

INSERT INTO panel.audit_head (id, sequence, digest) VALUES (1, 0, '');

CREATE FUNCTION panel.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'panel.% is a journal: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER audit_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON panel.audit
  FOR EACH STATEMENT EXECUTE FUNCTION panel.refuse_change();
CREATE TRIGGER audit_link_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON panel.audit_link
  FOR EACH STATEMENT EXECUTE FUNCTION panel.refuse_change();

-- Names the columns, so that a column added later does not change the digests of older rows.
CREATE FUNCTION panel.audit_digest(previous bytea, entry panel.audit) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(previous || convert_to(jsonb_build_array(entry.id, extract(epoch FROM entry.at), entry.actor, entry.actor_name, entry.via,
    entry.ip, entry.request_id, entry.action, entry.account_id, entry.target, entry.reason, entry.before, entry.after)::text, 'UTF8'))
$$;

-- With the rights of the owner: the services may not write links. Runs at the commit, so that the head is locked for the commit alone, and
-- not while the service that makes the change is waited for.
CREATE FUNCTION panel.link_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  head panel.audit_head;
BEGIN
  UPDATE panel.audit_head h SET sequence = h.sequence + 1, digest = panel.audit_digest(h.digest, NEW) RETURNING h.* INTO STRICT head;
  INSERT INTO panel.audit_link (sequence, audit_id, digest) VALUES (head.sequence, NEW.id, head.digest);
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER audit_is_linked AFTER INSERT ON panel.audit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION panel.link_audit();

-- A UUIDv7: 48 bits of milliseconds, the version, 12 bits of microseconds, and random ones. Audit rows of one transaction sort in the order
-- in which it wrote them.
CREATE FUNCTION panel.id_of(moment timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(overlay(uuid_send(gen_random_uuid())
    PLACING int8send((micros / 1000 << 16) | x'7000'::bigint | micros % 1000) FROM 1 FOR 8), 'hex')::uuid
  FROM (SELECT floor(extract(epoch FROM moment) * 1000000)::bigint AS micros) AS clock
$$;

-- Writes the audit row of a change, and returns it for the log. `caller` has actor, actorName, via, ip and requestId.
CREATE FUNCTION panel.record_audit(caller jsonb, action text, account_id uuid, target text, reason text, before jsonb, after jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();
  id uuid := panel.id_of(at);
BEGIN
  INSERT INTO panel.audit (id, at, actor, actor_name, via, ip, request_id, action, account_id, target, reason, before, after)
  VALUES (id, at, caller ->> 'actor', caller ->> 'actorName', caller ->> 'via', caller ->> 'ip', caller ->> 'requestId', action, account_id,
    target, reason, before, after);
  RETURN jsonb_build_object('id', id, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor', caller -> 'actor',
    'actorName', caller -> 'actorName', 'via', caller -> 'via', 'ip', caller -> 'ip', 'requestId', caller -> 'requestId', 'action', action,
    'accountId', account_id, 'target', target, 'reason', reason, 'before', before, 'after', after);
END
$$;

-- Refuses the commit of a transaction that changed people or rights without an audit row. `xmin` is the transaction that inserted a row; a
-- row that was inserted after a savepoint is not found. Its id is not older than the start of the transaction, less one millisecond.
CREATE FUNCTION panel.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM panel.audit WHERE xmin = pg_current_xact_id()::xid
      AND id >= (left(panel.id_of(now() - interval '1 ms')::text, 13) || '-0000-0000-000000000000')::uuid) THEN
    RAISE EXCEPTION 'panel: %/% was changed without an audit row', TG_TABLE_NAME, coalesce(NEW.id, OLD.id)
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Call panel.record_audit in the same transaction.';
  END IF;
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER user_change_is_audited AFTER INSERT OR UPDATE OR DELETE ON panel."user"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();
CREATE CONSTRAINT TRIGGER grant_change_is_audited AFTER INSERT OR UPDATE OR DELETE ON panel."grant"
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();
CREATE CONSTRAINT TRIGGER identity_change_is_audited AFTER INSERT OR UPDATE OR DELETE ON panel.identity
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();
CREATE CONSTRAINT TRIGGER invite_change_is_audited AFTER INSERT OR UPDATE OR DELETE ON panel.invite
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();
-- `used_at` changes with use.
CREATE CONSTRAINT TRIGGER token_change_is_audited AFTER INSERT OR DELETE OR UPDATE OF permissions, account_id, expires_at, revoked_at, digest
  ON panel.token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();
