-- online: proves the limits of the ids, and the constraints that were added as NOT VALID: those of a partition have to be valid. One pass over
-- each journal, which blocks neither reads nor writes.
DO $$
DECLARE
  journal text;
  validations text;
BEGIN
  FOREACH journal IN ARRAY ARRAY['settlement', 'late_settlement'] LOOP
    SELECT string_agg(format('VALIDATE CONSTRAINT %I', conname), ', ') INTO validations FROM pg_constraint
      WHERE conrelid = format('billing.%I', journal)::regclass AND contype = 'c' AND NOT convalidated;
    IF validations IS NOT NULL THEN
      EXECUTE format('ALTER TABLE billing.%I %s', journal, validations);
    END IF;
    COMMIT;
  END LOOP;
END
$$;
