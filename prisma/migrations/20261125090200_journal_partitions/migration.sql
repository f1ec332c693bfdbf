-- Makes each journal of settlements a table that is partitioned by month; the table so far is its first partition. Nothing is copied or
-- read, because the limit of the ids is proven. A late settlement is in the same month as its settlement, and its foreign key refers to the
-- partition of that month.

-- Adds a partition to a journal, with the trigger that refuses changes: partitions do not inherit triggers of statements.
CREATE FUNCTION billing.add_partition(journal text, part text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TABLE journal.%I (LIKE billing.%I INCLUDING ALL)', part, journal);
  EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE OR DELETE OR TRUNCATE ON journal.%I FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change()',
    journal || '_is_immutable', part);
  EXECUTE format('ALTER TABLE billing.%I ATTACH PARTITION journal.%I %s', journal, part, bounds);
END
$$;

-- Adds the partitions of a month to both journals, or the default ones.
CREATE FUNCTION billing.add_partitions(month text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM billing.add_partition('settlement', 'settlement_' || month, bounds);
  PERFORM billing.add_partition('late_settlement', 'late_settlement_' || month, bounds);
  EXECUTE format('ALTER TABLE journal.%I ADD CONSTRAINT late_settlement_hold_id_fkey FOREIGN KEY (hold_id) REFERENCES journal.%I',
    'late_settlement_' || month, 'settlement_' || month);
END
$$;

-- Adds the partitions of the months after the last one, up to `ahead` months from now. With the rights of the owner, because billing may
-- create no table. Replicas call it at the same time.
--
-- Rows of a month without a partition go to the default one, so no batch fails when the call is missing. `outside` is the number of rows
-- there, at most 100,000. Their month gets no partition later, because rows never move. Adding a partition reads the default one under its
-- lock, so nothing is added while it is large; batches wait for no other lock.
CREATE FUNCTION billing.keep_months(ahead integer, OUT added text[], OUT outside bigint) LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = '' SET lock_timeout = '300ms' AS $$
DECLARE
  month date;
  lowest uuid;
  above uuid;
BEGIN
  added := '{}';
  SELECT count(*) INTO outside FROM (SELECT FROM journal.settlement_default LIMIT 100000) s;
  IF NOT pg_try_advisory_xact_lock(7243011) THEN
    RETURN; -- another replica adds them
  END IF;
  SELECT to_date(max(right(relname, 7)), 'YYYY_MM') INTO month FROM pg_class
    WHERE relnamespace = 'journal'::regnamespace AND relname ~ '^settlement_\d{4}_\d{2}$';
  WHILE outside < 100000 AND month < date_trunc('month', now() AT TIME ZONE 'UTC') + ahead * interval '1 month' LOOP
    month := month + interval '1 month';
    lowest := billing.first_id_of(month);
    above := billing.first_id_of((month + interval '1 month')::date);
    CONTINUE WHEN EXISTS (SELECT FROM journal.settlement_default WHERE hold_id >= lowest AND hold_id < above);
    PERFORM billing.add_partitions(to_char(month, 'YYYY_MM'), format('FOR VALUES FROM (%L) TO (%L)', lowest, above));
    added := added || to_char(month, 'YYYY-MM');
  END LOOP;
END
$$;

REVOKE ALL ON FUNCTION billing.keep_months(integer) FROM PUBLIC;

-- Makes a journal the first partition of a new table that has its name, columns, constraints, indexes, triggers and grants.
CREATE FUNCTION pg_temp.partition_journal(journal text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  whole regclass := format('billing.%I', journal)::regclass;
  -- Null: no limit was set.
  until date := (SELECT to_date(right(conname, 7), 'YYYY_MM') FROM pg_constraint WHERE conrelid = whole AND conname LIKE journal || '\_until\_%');
  part text := journal || '_' || coalesce(to_char(until, 'YYYY_MM'), 'all');
  proof text := journal || '_until_' || coalesce(to_char(until, 'YYYY_MM'), 'all');
  bound text := coalesce(quote_literal(billing.first_id_of((until + interval '1 month')::date)), 'MAXVALUE');
  parts text[] := ARRAY(
    SELECT format('ALTER TABLE billing.%I ADD CONSTRAINT %I %s', journal, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE conrelid = whole AND contype = 'p'
    UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = whole AND NOT indisprimary
    UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = whole AND NOT tgisinternal
    UNION ALL SELECT format('GRANT %s ON billing.%I TO %s; REVOKE ALL ON journal.%I FROM %3$s', privilege_type, journal, grantee::regrole, part)
      FROM pg_class, aclexplode(relacl) WHERE oid = whole AND grantee NOT IN (0, relowner));
  statement text;
BEGIN
  EXECUTE format('ALTER TABLE billing.%I SET SCHEMA journal', journal);
  EXECUTE format('ALTER TABLE journal.%I RENAME TO %I', journal, part);
  EXECUTE format('CREATE TABLE billing.%I (LIKE journal.%I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (hold_id)', journal, part);
  EXECUTE format('ALTER TABLE billing.%I DROP CONSTRAINT IF EXISTS %I', journal, proof);
  FOREACH statement IN ARRAY parts LOOP
    EXECUTE statement;
  END LOOP;
  EXECUTE format('ALTER TABLE billing.%I ATTACH PARTITION journal.%I FOR VALUES FROM (MINVALUE) TO (%s)', journal, part, bound);
  EXECUTE format('ALTER TABLE journal.%I DROP CONSTRAINT IF EXISTS %I', part, proof);
END
$$;

CREATE FUNCTION pg_temp.partition_journals() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Both at once, so that no batch has the one and waits for the other.
  LOCK TABLE billing.settlement, billing.late_settlement IN ACCESS EXCLUSIVE MODE;
  PERFORM pg_temp.partition_journal('settlement');
  PERFORM pg_temp.partition_journal('late_settlement');
  PERFORM billing.add_partitions('default', 'DEFAULT');
  PERFORM billing.keep_months(3);
END
$$;

SELECT pg_temp.partition_journals();

-- Both functions look for each id in its partition, because Postgres does not choose partitions by the values of an array. The lowest and the
-- highest id leave out the other partitions before the statement starts, so that a batch does not open those of years.
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
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION billing.used_elsewhere(holds uuid[], accounts uuid[]) RETURNS SETOF uuid LANGUAGE plpgsql STABLE AS $$
DECLARE
  one uuid;
  lowest uuid;
  highest uuid;
BEGIN
  FOREACH one IN ARRAY holds LOOP
    lowest := least(lowest, one);
    highest := greatest(highest, one);
  END LOOP;
  RETURN QUERY SELECT r.hold_id FROM unnest(holds, accounts) AS r (hold_id, payer_id),
      LATERAL (SELECT account_id FROM billing.hold WHERE id = r.hold_id LIMIT 1) AS h
    WHERE h.account_id <> r.payer_id
    UNION ALL SELECT r.hold_id FROM unnest(holds, accounts) AS r (hold_id, payer_id),
      LATERAL (SELECT account_id FROM billing.settlement WHERE hold_id = r.hold_id AND hold_id BETWEEN lowest AND highest LIMIT 1) AS s
    WHERE s.account_id <> r.payer_id;
END
$$;
