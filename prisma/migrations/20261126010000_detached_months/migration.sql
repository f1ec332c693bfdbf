-- Detached months: partitions of the journals that were taken out, oldest first. Their tables are in the schema `detached`, for the operator to
-- dump and drop; what the ledger check needs of them stays here. No service has rights on the schema.
--
-- Billing replicas of the version before run on it while no month is detached.

CREATE SCHEMA detached;

CREATE TABLE billing.detached_month (
  id                     text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- Range of the hold ids. Null: from the first one.
  ids_from               uuid,
  ids_below              uuid NOT NULL UNIQUE,
  -- First day on which none of the rows counts.
  counted_to             date NOT NULL,
  settlements            bigint NOT NULL,
  settlements_digest     text NOT NULL,
  late_settlements       bigint NOT NULL,
  late_settlements_digest text NOT NULL,
  -- SHA-256 of `detached_account` and `detached_grant`.
  sums_digest            text NOT NULL,
  -- Files of closed months that lack the rows of this month and of those detached before: rows and SHA-256 of what is left.
  rests                  jsonb NOT NULL,
  detached_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT detached_month_has_ids CHECK (ids_from < ids_below)
);

-- What the rows of a detached month changed, by account and by grant.
CREATE TABLE billing.detached_account (
  month        text COLLATE "C" NOT NULL,
  account_id   uuid NOT NULL,
  change       numeric(38, 0) NOT NULL,
  topup_change numeric(38, 0) NOT NULL,
  PRIMARY KEY (month, account_id)
);
CREATE TABLE billing.detached_grant (
  month      text COLLATE "C" NOT NULL,
  grant_id   uuid NOT NULL,
  account_id uuid NOT NULL,
  gone       numeric(38, 0) NOT NULL,
  PRIMARY KEY (month, grant_id, account_id)
);

CREATE TRIGGER detached_month_is_immutable BEFORE UPDATE OR TRUNCATE ON billing.detached_month
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER detached_account_is_immutable BEFORE UPDATE OR TRUNCATE ON billing.detached_account
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER detached_grant_is_immutable BEFORE UPDATE OR TRUNCATE ON billing.detached_grant
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

CREATE CONSTRAINT TRIGGER detached_month_is_audited AFTER INSERT OR DELETE ON billing.detached_month DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('month');

-- Digest of the rows of a journal below an id, in the order of their ids. Each row is hashed with the digest of all before it.
CREATE FUNCTION billing.journal_digest(journal regclass, below uuid, OUT row_count bigint, OUT digest text) LANGUAGE plpgsql STABLE
  SET search_path = '' SET timezone = 'UTC' AS $$
DECLARE
  line text;
  chained bytea := '';
BEGIN
  row_count := 0;
  FOR line IN EXECUTE format('SELECT to_jsonb(j)::text FROM %s j WHERE hold_id < %L ORDER BY hold_id', journal, below) LOOP
    chained := sha256(chained || convert_to(line, 'UTF8'));
    row_count := row_count + 1;
  END LOOP;
  digest := encode(chained, 'hex');
END
$$;

-- Refuses holds and journal rows with ids of detached months, which are of no partition; null: of no month. An open hold of these ids makes it fail.
CREATE FUNCTION billing.refuse_ids(below uuid) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  place text[];
BEGIN
  FOREACH place SLICE 1 IN ARRAY ARRAY[
    ['billing.hold', 'id', 'hold_is_not_detached'],
    ['journal.settlement_default', 'hold_id', 'settlement_is_not_detached'],
    ['journal.late_settlement_default', 'hold_id', 'late_settlement_is_not_detached']
  ] LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', place[1], place[3]);
    IF below IS NOT NULL THEN
      EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%I >= %L)', place[1], place[3], place[2], below);
    END IF;
  END LOOP;
END
$$;

-- Takes the oldest month out of the journals. `detached` is its row of billing.detached_month. `added` is the number of its rows from
-- transactions from `since` on: another number now means that rows were added while they were summed.
--
-- Requests wait for the locks below, for 300 ms at most; then they go on, and it tries again. A ledger check yields.
CREATE FUNCTION billing.detach_month(detached jsonb, since bigint, added bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' SET lock_timeout = '300ms' AS $$
DECLARE
  of billing.detached_month := jsonb_populate_record(NULL::billing.detached_month, detached);
  part text := replace(of.id, '-', '_');
  journal text;
  found_now bigint;
BEGIN
  IF part IS DISTINCT FROM (SELECT min(right(relname, 7)) FROM pg_catalog.pg_inherits JOIN pg_catalog.pg_class ON oid = inhrelid
      WHERE inhparent = 'billing.settlement'::regclass AND relname ~ '^settlement_\d{4}_\d{2}$')
    OR of.ids_below IS DISTINCT FROM billing.first_id_of((to_date(of.id, 'YYYY-MM') + interval '1 month')::date)
    OR NOT EXISTS (SELECT FROM billing.month WHERE id = of.id)
    OR NOT EXISTS (SELECT FROM billing.month WHERE id = to_char(to_date(of.id, 'YYYY-MM') + interval '1 month', 'YYYY-MM')) THEN
    RAISE EXCEPTION 'billing: % is not the oldest month, or it and the next one are not closed.', of.id USING ERRCODE = 'assert_failure';
  END IF;
  FOR attempt IN 1..20 LOOP
    BEGIN
      LOCK TABLE billing.hold, billing.settlement, billing.late_settlement IN ACCESS EXCLUSIVE MODE;
      EXECUTE format('SELECT (SELECT count(*) FROM journal.%I WHERE transaction_id >= $1) + (SELECT count(*) FROM journal.%I WHERE transaction_id >= $1)',
        'settlement_' || part, 'late_settlement_' || part) INTO found_now USING since;
      IF found_now <> added THEN
        RAISE EXCEPTION 'billing: Rows were added to % meanwhile: try again.', of.id USING ERRCODE = 'assert_failure';
      END IF;
      FOREACH journal IN ARRAY ARRAY['late_settlement', 'settlement'] LOOP
        EXECUTE format('ALTER TABLE billing.%I DETACH PARTITION journal.%I', journal, journal || '_' || part);
        EXECUTE format('ALTER TABLE journal.%I SET SCHEMA detached', journal || '_' || part);
      END LOOP;
      PERFORM billing.refuse_ids(of.ids_below);
      INSERT INTO billing.detached_month (id, ids_from, ids_below, counted_to, settlements, settlements_digest, late_settlements,
          late_settlements_digest, sums_digest, rests)
        VALUES (of.id, of.ids_from, of.ids_below, of.counted_to, of.settlements, of.settlements_digest, of.late_settlements,
          of.late_settlements_digest, of.sums_digest, of.rests);
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF attempt = 20 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.5);
    END;
  END LOOP;
END
$$;

-- Makes the tables of the month that was detached last ready to be attached, if they have the rows that they had. Locks nothing else.
CREATE FUNCTION billing.verify_month(month text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  of billing.detached_month;
  part text := replace(month, '-', '_');
  journal text;
  sealed text;
BEGIN
  SELECT * INTO of FROM billing.detached_month ORDER BY ids_below DESC LIMIT 1;
  IF of.id IS DISTINCT FROM month THEN
    RAISE EXCEPTION 'billing: The month to attach is %.', coalesce(of.id, 'none') USING ERRCODE = 'assert_failure';
  END IF;
  FOREACH journal IN ARRAY ARRAY['settlement', 'late_settlement'] LOOP
    IF to_regclass(format('detached.%I', journal || '_' || part)) IS NULL THEN
      RAISE EXCEPTION 'billing: There is no table detached.%: restore its dump.', journal || '_' || part USING ERRCODE = 'assert_failure';
    END IF;
    EXECUTE format('LOCK TABLE detached.%I IN SHARE ROW EXCLUSIVE MODE', journal || '_' || part);
    sealed := CASE journal WHEN 'settlement' THEN of.settlements || ' ' || of.settlements_digest
      ELSE of.late_settlements || ' ' || of.late_settlements_digest END;
    IF sealed IS DISTINCT FROM (SELECT row_count || ' ' || digest
        FROM billing.journal_digest(format('detached.%I', journal || '_' || part)::regclass, 'ffffffff-ffff-ffff-ffff-ffffffffffff')) THEN
      RAISE EXCEPTION 'billing: The rows of detached.% are not those that were detached.', journal || '_' || part USING ERRCODE = 'assert_failure';
    END IF;
  END LOOP;
  FOREACH journal IN ARRAY ARRAY['settlement', 'late_settlement'] LOOP
    EXECUTE format('ALTER TABLE detached.%I SET SCHEMA journal', journal || '_' || part);
    EXECUTE format('CREATE OR REPLACE TRIGGER %I BEFORE UPDATE OR DELETE OR TRUNCATE ON journal.%I FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change()',
      journal || '_is_immutable', journal || '_' || part);
    -- With it Postgres attaches the table without reading it.
    EXECUTE format('ALTER TABLE journal.%I ADD CONSTRAINT has_ids_of_month CHECK (hold_id >= %L AND hold_id < %L)', journal || '_' || part,
      coalesce(of.ids_from, '00000000-0000-0000-0000-000000000000'), of.ids_below);
  END LOOP;
  EXECUTE format('ALTER TABLE journal.%I DROP CONSTRAINT IF EXISTS late_settlement_hold_id_fkey, ADD CONSTRAINT late_settlement_hold_id_fkey
    FOREIGN KEY (hold_id) REFERENCES journal.%I', 'late_settlement_' || part, 'settlement_' || part);
END
$$;

-- Puts the month that `verify_month` has made ready back into the journals.
CREATE FUNCTION billing.attach_month(month text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' SET lock_timeout = '300ms' AS $$
DECLARE
  of billing.detached_month;
  part text := replace(month, '-', '_');
  journal text;
BEGIN
  SELECT * INTO STRICT of FROM billing.detached_month WHERE id = month;
  FOR attempt IN 1..20 LOOP
    BEGIN
      LOCK TABLE billing.hold, billing.settlement, billing.late_settlement IN ACCESS EXCLUSIVE MODE;
      FOREACH journal IN ARRAY ARRAY['settlement', 'late_settlement'] LOOP
        EXECUTE format('ALTER TABLE billing.%I ATTACH PARTITION journal.%I FOR VALUES FROM (%s) TO (%L)', journal, journal || '_' || part,
          coalesce(quote_literal(of.ids_from), 'MINVALUE'), of.ids_below);
        EXECUTE format('ALTER TABLE journal.%I DROP CONSTRAINT has_ids_of_month', journal || '_' || part);
      END LOOP;
      PERFORM billing.refuse_ids(of.ids_from);
      DELETE FROM billing.detached_month WHERE id = month;
      DELETE FROM billing.detached_account a WHERE a.month = attach_month.month;
      DELETE FROM billing.detached_grant g WHERE g.month = attach_month.month;
      RETURN;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF attempt = 20 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.5);
    END;
  END LOOP;
END
$$;

REVOKE ALL ON FUNCTION billing.refuse_ids(uuid), billing.detach_month(jsonb, bigint, bigint), billing.verify_month(text),
  billing.attach_month(text) FROM PUBLIC;

-- As before, and a batch that refuses an id of a detached month is repeated under the lock. A hold of such an id fails by its constraint.
CREATE OR REPLACE FUNCTION billing.demand_new(reserved uuid[], reserved_of uuid[], refused uuid[], refused_of uuid[]) RETURNS boolean
  LANGUAGE plpgsql AS $$
DECLARE
  one uuid;
  lowest uuid;
  highest uuid;
BEGIN
  FOREACH one IN ARRAY reserved LOOP
    lowest := least(lowest, one);
    highest := greatest(highest, one);
  END LOOP;
  IF EXISTS (
    SELECT FROM unnest(reserved) AS r (hold_id),
      LATERAL (SELECT FROM billing.settlement WHERE hold_id = r.hold_id AND hold_id BETWEEN lowest AND highest LIMIT 1) AS s
  ) OR EXISTS (SELECT FROM billing.hold WHERE id = ANY (refused)) THEN
    RAISE EXCEPTION 'billing: a reserve was decided before' USING ERRCODE = 'assert_failure';
  END IF;
  IF refused <> '{}' THEN
    IF EXISTS (SELECT FROM billing.detached_month WHERE ids_below > lowest) THEN
      RAISE EXCEPTION 'billing: a reserve is of a detached month' USING ERRCODE = 'assert_failure';
    END IF;
  END IF;
  RETURN true;
END
$$;
