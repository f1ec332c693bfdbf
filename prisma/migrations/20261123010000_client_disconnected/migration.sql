-- Renames the settle reason `client-left` to `client-disconnected`. The old name stays valid: billing services of the version before write
-- it until they are replaced.
--
-- NOT VALID: every existing row satisfies the narrower check, and a scan of the journals would block every request meanwhile.

ALTER TABLE billing.settlement
  DROP CONSTRAINT settlement_reason_check,
  ADD CONSTRAINT settlement_reason_check
    CHECK (reason IN ('completed', 'failed', 'client-disconnected', 'released', 'lease-expired', 'client-left')) NOT VALID;

ALTER TABLE billing.late_settlement
  DROP CONSTRAINT late_settlement_reason_check,
  ADD CONSTRAINT late_settlement_reason_check
    CHECK (reason IN ('completed', 'failed', 'client-disconnected', 'released', 'client-left')) NOT VALID;
