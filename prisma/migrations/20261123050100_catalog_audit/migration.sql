-- The audit journal of the catalog, in the form of billing's: one row for each applied revision, written in its transaction.
--
-- Replicas of the version before write no audit rows. From this migration until they are replaced, their applies are refused.

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

CREATE TRIGGER audit_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog.audit
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();

-- ---- the chain -------------------------------------------------------------------------------------------------------

-- One link for each audit row, in the order of the commits. The digest covers the row and the digest of the link before.
CREATE TABLE catalog.audit_link (
  sequence bigint PRIMARY KEY,
  audit_id uuid NOT NULL,
  digest   bytea NOT NULL
);

CREATE TRIGGER audit_link_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON catalog.audit_link
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();

-- One row: the last link. Its row lock orders the commits, and it shows when the last rows of the journal are removed.
CREATE TABLE catalog.audit_head (
  sequence bigint NOT NULL,
  digest   bytea NOT NULL
);

INSERT INTO catalog.audit_head (sequence, digest) VALUES (0, '');

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

-- ---- writing ---------------------------------------------------------------------------------------------------------

-- Writes the audit row of a change, and returns it for the log. `caller` has actor, actorName, via, ip and requestId.
CREATE FUNCTION catalog.record_audit(caller jsonb, action text, account_id uuid, target text, reason text, before jsonb, after jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();
  -- A random UUID whose first 48 bits are the milliseconds, and whose version is 7 instead of 4.
  id uuid := encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    PLACING substring(int8send(floor(extract(epoch FROM at) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;
BEGIN
  INSERT INTO catalog.audit (id, at, actor, actor_name, via, ip, request_id, action, account_id, target, reason, before, after)
  VALUES (id, at, caller ->> 'actor', caller ->> 'actorName', caller ->> 'via', caller ->> 'ip', caller ->> 'requestId', action, account_id,
    target, reason, before, after);
  RETURN jsonb_build_object('id', id, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor', caller -> 'actor',
    'actorName', caller -> 'actorName', 'via', caller -> 'via', 'ip', caller -> 'ip', 'requestId', caller -> 'requestId', 'action', action,
    'accountId', account_id, 'target', target, 'reason', reason, 'before', before, 'after', after);
END
$$;

-- ---- guards ----------------------------------------------------------------------------------------------------------

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
CREATE CONSTRAINT TRIGGER route_is_audited AFTER INSERT OR UPDATE OR DELETE ON catalog.route DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();
