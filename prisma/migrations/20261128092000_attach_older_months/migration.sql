-- As before, and a month that was detached by an older version gets the columns and checks that the journals have since. Its digest is
-- compared first: its rows are those of its time. Columns that journals get later are empty for older rows.
CREATE OR REPLACE FUNCTION billing.verify_month(month text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  of billing.detached_month;
  part text := replace(month, '-', '_');
  journal text;
  sealed text;
  later text;
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
    FOR later IN
      SELECT format('ADD COLUMN %I %s', a.attname, format_type(a.atttypid, a.atttypmod)) FROM pg_attribute a
        WHERE a.attrelid = format('billing.%I', journal)::regclass AND a.attnum > 0 AND NOT a.attisdropped
          AND NOT EXISTS (SELECT FROM pg_attribute known
            WHERE known.attrelid = format('detached.%I', journal || '_' || part)::regclass AND known.attname = a.attname)
      UNION ALL
      SELECT format('ADD CONSTRAINT %I %s', c.conname, regexp_replace(pg_get_constraintdef(c.oid), ' NOT VALID$', '')) FROM pg_constraint c
        WHERE c.conrelid = format('billing.%I', journal)::regclass AND c.contype = 'c'
          AND NOT EXISTS (SELECT FROM pg_constraint known
            WHERE known.conrelid = format('detached.%I', journal || '_' || part)::regclass AND known.conname = c.conname)
    LOOP
      EXECUTE format('ALTER TABLE detached.%I %s', journal || '_' || part, later);
    END LOOP;
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
