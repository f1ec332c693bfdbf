-- Payments by card: cards of customers at Stripe, by their ids there, and automatic top-ups. Money is in billing.

CREATE SCHEMA payments;

-- The card that a customer stored for automatic top-ups.
CREATE TABLE payments.card (
  account_id     uuid PRIMARY KEY,
  -- Ids of Stripe.
  customer       text NOT NULL,
  payment_method text NOT NULL,
  brand          text,
  last4          text CHECK (last4 ~ '^\d{4}$'),
  saved_at       timestamptz NOT NULL
);

-- When an account is topped up without a person, and by how much. Amounts are cents, but for the threshold in pico-USD.
CREATE TABLE payments.auto_topup (
  account_id  uuid PRIMARY KEY,
  threshold   numeric(38, 0) NOT NULL CHECK (threshold > 0),
  amount      bigint NOT NULL CHECK (amount > 0),
  -- The most in a month (UTC) of all automatic top-ups of the account.
  monthly_cap bigint NOT NULL,
  set_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT auto_topup_fits_cap CHECK (monthly_cap >= amount)
);

-- One automatic top-up: its amount counts against the cap of its month from before Stripe is asked, and until nothing can be paid any more.
CREATE TABLE payments.charge (
  -- The idempotency key at Stripe.
  id             uuid PRIMARY KEY,
  account_id     uuid NOT NULL,
  -- `2027-01`. The trigger below sets it.
  month          text NOT NULL,
  amount         bigint NOT NULL CHECK (amount > 0),
  -- The card as it was, because a repeated call must be the same.
  customer       text NOT NULL,
  payment_method text NOT NULL,
  -- `open`: Stripe may take the money. `paid`: it has, and billing has the top-up. `released`: it never will.
  state          text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'paid', 'released')),
  -- Id of the payment at Stripe, once it is known.
  payment_id     text UNIQUE,
  -- Why it was released.
  fault          text,
  created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT charge_paid_has_payment CHECK (state <> 'paid' OR payment_id IS NOT NULL)
);

-- One at a time for each account, so that two that see a low balance do not both top it up.
CREATE UNIQUE INDEX charge_open ON payments.charge (account_id) WHERE state = 'open';
CREATE INDEX charge_account ON payments.charge (account_id, created_at);

-- The hard cap: a charge beyond it is not inserted. The lock of the rule makes charges of an account take turns, so that each sees all before it.
CREATE FUNCTION payments.keep_cap() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  cap bigint;
BEGIN
  SELECT monthly_cap INTO cap FROM payments.auto_topup WHERE account_id = NEW.account_id FOR UPDATE;
  NEW.created_at := clock_timestamp();
  NEW.month := to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM');
  IF cap IS NULL OR NEW.amount + coalesce((SELECT sum(amount) FROM payments.charge
      WHERE account_id = NEW.account_id AND month = NEW.month AND state <> 'released'), 0) > cap THEN
    RETURN NULL; -- no row is made
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER charge_within_cap BEFORE INSERT ON payments.charge FOR EACH ROW EXECUTE FUNCTION payments.keep_cap();

-- A charge that ended stays as it is, and no charge changes what it is.
CREATE FUNCTION payments.keep_charge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state <> 'open' OR (OLD.account_id, OLD.month, OLD.amount, OLD.customer, OLD.payment_method)
      IS DISTINCT FROM (NEW.account_id, NEW.month, NEW.amount, NEW.customer, NEW.payment_method)
      OR (OLD.payment_id IS NOT NULL AND OLD.payment_id IS DISTINCT FROM NEW.payment_id) THEN
    RAISE EXCEPTION 'a charge keeps its amount, its payment and its end' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER charge_is_kept BEFORE UPDATE ON payments.charge FOR EACH ROW EXECUTE FUNCTION payments.keep_charge();

CREATE FUNCTION payments.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'payments.% keeps every row: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER charge_is_never_deleted BEFORE DELETE OR TRUNCATE ON payments.charge
  FOR EACH STATEMENT EXECUTE FUNCTION payments.refuse_change();

-- ==== the audit journal ===============================================================================================

-- In the form of billing's: one row for each change of a rule, written in its transaction.
CREATE TABLE payments.audit (
  -- UUID v7 of `at`, so that the order of ids is the order of time.
  id         uuid PRIMARY KEY,
  at         timestamptz NOT NULL,
  -- `user/<id>`, `token/<id>`, `cli/<os-user>@<host>`, `nats/<user>` of a caller that named no actor, or `service/payments`.
  actor      text NOT NULL,
  actor_name text,
  -- NATS user that the change came through.
  via        text,
  ip         text,
  request_id text,
  action     text NOT NULL,
  account_id uuid,
  -- `account/<id>`. The guard below looks for it.
  target     text NOT NULL,
  reason     text,
  before     jsonb,
  after      jsonb
);

CREATE INDEX audit_actor ON payments.audit (actor, id);
CREATE INDEX audit_account ON payments.audit (account_id, id);
CREATE INDEX audit_target ON payments.audit (target);

-- One link for each audit row, in the order of the commits. The digest covers the row and the digest of the link before.
CREATE TABLE payments.audit_link (
  sequence bigint PRIMARY KEY,
  audit_id uuid NOT NULL,
  digest   bytea NOT NULL
);

-- One row: the last link. Its row lock orders the commits, and it shows when the last rows of the journal are removed.
CREATE TABLE payments.audit_head (
  sequence bigint NOT NULL,
  digest   bytea NOT NULL
);

INSERT INTO payments.audit_head (sequence, digest) VALUES (0, '');

CREATE TRIGGER audit_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON payments.audit
  FOR EACH STATEMENT EXECUTE FUNCTION payments.refuse_change();
CREATE TRIGGER audit_link_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON payments.audit_link
  FOR EACH STATEMENT EXECUTE FUNCTION payments.refuse_change();

-- Names the columns, so that a column added later does not change the digests of older rows.
CREATE FUNCTION payments.audit_digest(previous bytea, entry payments.audit) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
  SELECT sha256(previous || convert_to(jsonb_build_array(entry.id, extract(epoch FROM entry.at), entry.actor, entry.actor_name, entry.via,
    entry.ip, entry.request_id, entry.action, entry.account_id, entry.target, entry.reason, entry.before, entry.after)::text, 'UTF8'))
$$;

-- With the rights of the owner: the services may not write links. Runs at the commit, so that the head is locked for the commit alone, and
-- not while the service that makes the change is waited for.
CREATE FUNCTION payments.link_audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  head payments.audit_head;
BEGIN
  UPDATE payments.audit_head h SET sequence = h.sequence + 1, digest = payments.audit_digest(h.digest, NEW) RETURNING h.* INTO STRICT head;
  INSERT INTO payments.audit_link (sequence, audit_id, digest) VALUES (head.sequence, NEW.id, head.digest);
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER audit_is_linked AFTER INSERT ON payments.audit DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION payments.link_audit();

-- A UUIDv7: 48 bits of milliseconds, the version, 12 bits of microseconds, and random ones. Audit rows of one transaction sort in the order
-- in which it wrote them.
CREATE FUNCTION payments.id_of(moment timestamptz) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(overlay(uuid_send(gen_random_uuid())
    PLACING int8send((micros / 1000 << 16) | x'7000'::bigint | micros % 1000) FROM 1 FOR 8), 'hex')::uuid
  FROM (SELECT floor(extract(epoch FROM moment) * 1000000)::bigint AS micros) AS clock
$$;

-- Writes the audit row of a change, and returns it for the log. `caller` has actor, actorName, via, ip and requestId.
CREATE FUNCTION payments.record_audit(caller jsonb, action text, account_id uuid, target text, reason text, before jsonb, after jsonb)
RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();
  id uuid := payments.id_of(at);
BEGIN
  INSERT INTO payments.audit (id, at, actor, actor_name, via, ip, request_id, action, account_id, target, reason, before, after)
  VALUES (id, at, caller ->> 'actor', caller ->> 'actorName', caller ->> 'via', caller ->> 'ip', caller ->> 'requestId', action, account_id,
    target, reason, before, after);
  RETURN jsonb_build_object('id', id, 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'actor', caller -> 'actor',
    'actorName', caller -> 'actorName', 'via', caller -> 'via', 'ip', caller -> 'ip', 'requestId', caller -> 'requestId', 'action', action,
    'accountId', account_id, 'target', target, 'reason', reason, 'before', before, 'after', after);
END
$$;

-- Refuses the commit of a change of a rule without an audit row of the same transaction that names its account.
CREATE FUNCTION payments.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM payments.audit a WHERE a.target = 'account/' || coalesce(NEW.account_id, OLD.account_id)
      AND a.xmin = pg_current_xact_id()::xid) THEN
    RAISE EXCEPTION 'payments.% was changed without an audit row', TG_TABLE_NAME
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Call payments.record_audit in the same transaction.';
  END IF;
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER auto_topup_is_audited AFTER INSERT OR UPDATE OR DELETE ON payments.auto_topup DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION payments.demand_audit();
