-- The audit journal: one row for each administrative change, written in the transaction of the change.
--
-- Replicas of the version before write no audit rows. From this migration until they are replaced, their administrative changes are refused;
-- requests, settlements and the reaper are not affected.

CREATE TABLE billing.audit (
  -- UUID v7 of `at`, so that the order of ids is the order of time.
  id         uuid PRIMARY KEY,
  at         timestamptz NOT NULL,
  -- `user/<id>`, `token/<id>`, `cli/<os-user>@<host>`, `nats/<user>` of a caller that named no actor, or `service/billing`.
  actor      text NOT NULL,
  actor_name text,
  -- NATS user that the change came through.
  via        text,
  ip         text,
  request_id text,
  action     text NOT NULL,
  account_id uuid,
  -- The changed row, as `<kind>/<id>`. The guards below look for it.
  target     text NOT NULL,
  reason     text,
  before     jsonb,
  after      jsonb
);

CREATE INDEX audit_account_id ON billing.audit (account_id, id);
CREATE INDEX audit_actor ON billing.audit (actor, id);
CREATE INDEX audit_target ON billing.audit (target);

CREATE TRIGGER audit_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.audit
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- ---- the chain -------------------------------------------------------------------------------------------------------

-- One link for each audit row, in the order of the commits. The digest covers the row and the digest of the link before.
CREATE TABLE billing.audit_link (
  sequence bigint PRIMARY KEY,
  audit_id uuid NOT NULL,
  digest   bytea NOT NULL
);

CREATE TRIGGER audit_link_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.audit_link
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- One row: the last link. Its row lock orders the commits, and it shows when the last rows of the journal are removed.
CREATE TABLE billing.audit_head (
  sequence bigint NOT NULL,
  digest   bytea NOT NULL
);

INSERT INTO billing.audit_head (sequence, digest) VALUES (0, '');

-- Names the columns, so that a column added later does not change the digests of older rows.
CREATE FUNCTION billing.audit_digest(previous bytea, entry billing.audit) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(previous || convert_to(jsonb_build_array(entry.id, extract(epoch FROM entry.at), entry.actor, entry.actor_name, entry.via,
    entry.ip, entry.request_id, entry.action, entry.account_id, entry.target, entry.reason, entry.before, entry.after)::text, 'UTF8'))
$$;

-- With the rights of the owner: the services may not write links. Runs at the commit, so that the head is locked for the commit alone, and
-- not while the service that makes the change is waited for.
CREATE FUNCTION billing.link_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  head billing.audit_head;
BEGIN
  UPDATE billing.audit_head h SET sequence = h.sequence + 1, digest = billing.audit_digest(h.digest, NEW) RETURNING h.* INTO STRICT head;
  INSERT INTO billing.audit_link (sequence, audit_id, digest) VALUES (head.sequence, NEW.id, head.digest);
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER audit_is_linked AFTER INSERT ON billing.audit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.link_audit();

-- ---- writing ---------------------------------------------------------------------------------------------------------

-- Writes the audit row of a change, and returns it for the log. `caller` has actor, actorName, via, ip and requestId.
CREATE FUNCTION billing.record_audit(caller jsonb, action text, account_id uuid, target text, reason text, before jsonb, after jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();
  -- A random UUID whose first 48 bits are the milliseconds, and whose version is 7 instead of 4.
  id uuid := encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    PLACING substring(int8send(floor(extract(epoch FROM at) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;
BEGIN
  INSERT INTO billing.audit (id, at, actor, actor_name, via, ip, request_id, action, account_id, target, reason, before, after)
  VALUES (id, at, caller ->> 'actor', caller ->> 'actorName', caller ->> 'via', caller ->> 'ip', caller ->> 'requestId', action, account_id,
    target, reason, before, after);
  RETURN jsonb_build_object('id', id, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor', caller -> 'actor',
    'actorName', caller -> 'actorName', 'via', caller -> 'via', 'ip', caller -> 'ip', 'requestId', caller -> 'requestId', 'action', action,
    'accountId', account_id, 'target', target, 'reason', reason, 'before', before, 'after', after);
END
$$;

-- ---- guards ----------------------------------------------------------------------------------------------------------

-- Refuses the commit of a change without an audit row of the same transaction that names the changed row. `xmin` is the transaction that
-- inserted a row; a row that was inserted after a savepoint is not found.
CREATE FUNCTION billing.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM billing.audit WHERE target = TG_ARGV[0] || '/' || coalesce(NEW.id, OLD.id)
      AND xmin = pg_current_xact_id()::xid) THEN
    RAISE EXCEPTION 'billing: %/% was changed without an audit row', TG_ARGV[0], coalesce(NEW.id, OLD.id)
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Call billing.record_audit in the same transaction.';
  END IF;
  RETURN NULL;
END
$$;

-- UPDATE OF names the columns that operators change. Batches of requests set none of them, so these triggers cost them nothing.
CREATE CONSTRAINT TRIGGER account_insert_is_audited AFTER INSERT OR DELETE ON billing.account DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('account');
CREATE CONSTRAINT TRIGGER account_update_is_audited AFTER UPDATE OF id, name, status, status_reason, low_balance, created_at
  ON billing.account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.id, OLD.name, OLD.status, OLD.status_reason, OLD.low_balance, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.name, NEW.status, NEW.status_reason, NEW.low_balance, NEW.created_at))
  EXECUTE FUNCTION billing.demand_audit('account');

CREATE CONSTRAINT TRIGGER project_insert_is_audited AFTER INSERT OR DELETE ON billing.project DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('project');
CREATE CONSTRAINT TRIGGER project_update_is_audited
  AFTER UPDATE OF id, account_id, name, enabled, requests_per_minute_max, concurrency_max, created_at
  ON billing.project DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN ((OLD.id, OLD.account_id, OLD.name, OLD.enabled, OLD.requests_per_minute_max, OLD.concurrency_max, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.name, NEW.enabled, NEW.requests_per_minute_max, NEW.concurrency_max, NEW.created_at))
  EXECUTE FUNCTION billing.demand_audit('project');

CREATE CONSTRAINT TRIGGER api_key_insert_is_audited AFTER INSERT OR DELETE ON billing.api_key DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('key');
CREATE CONSTRAINT TRIGGER api_key_update_is_audited AFTER UPDATE ON billing.api_key DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION billing.demand_audit('key');

-- A grant that ends writes a forfeit by itself.
CREATE CONSTRAINT TRIGGER movement_is_audited AFTER INSERT ON billing.movement DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.kind <> 'forfeit') EXECUTE FUNCTION billing.demand_audit('movement');
