-- online: proves the constraints of the migration before, in one pass that blocks neither reads nor writes.
DO $$
BEGIN
  ALTER TABLE billing.account
    VALIDATE CONSTRAINT account_credit_line_not_negative,
    VALIDATE CONSTRAINT account_topup_covers_held;
  COMMIT;
END
$$;
