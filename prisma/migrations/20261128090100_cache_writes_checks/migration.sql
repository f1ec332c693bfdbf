-- online: proves the constraints of the journals of the migration before, in one pass of each that blocks neither reads nor writes. Tables of a
-- month that is attached have them without it.
DO $$
BEGIN
  ALTER TABLE billing.settlement VALIDATE CONSTRAINT settlement_cache_writes_within_prompt;
  COMMIT;
  ALTER TABLE billing.late_settlement VALIDATE CONSTRAINT late_settlement_cache_writes_within_prompt;
  COMMIT;
END
$$;
