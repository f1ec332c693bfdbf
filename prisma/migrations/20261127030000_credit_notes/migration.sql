-- Credit notes: movements that give back the cost of a settled request, in whole or in part.
ALTER TABLE billing.movement
  -- Id of the settled hold. No foreign key, because months of the journal can be detached.
  ADD COLUMN note_of uuid,
  DROP CONSTRAINT movement_kind_check,
  DROP CONSTRAINT movement_adjustment_has_reason,
  ADD CONSTRAINT movement_kind_check
    CHECK (kind IN ('topup', 'grant', 'forfeit', 'refund', 'credit', 'debit', 'credit-note')) NOT VALID,
  ADD CONSTRAINT movement_adjustment_has_reason
    CHECK (reason IS NOT NULL OR kind NOT IN ('credit', 'debit', 'credit-note')) NOT VALID,
  ADD CONSTRAINT movement_note_of_is_a_notes CHECK ((kind = 'credit-note') = (note_of IS NOT NULL)) NOT VALID;

-- The sum of the notes of a request spans rows, so a CHECK cannot limit it. The account is locked first, so that the sum has every note that
-- was committed before. The bill of the reaper is not final: a late settlement may still lower it.
CREATE FUNCTION billing.refuse_excess_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM billing.account WHERE id = NEW.account_id FOR NO KEY UPDATE;
  IF NOT EXISTS (
      SELECT FROM billing.settlement s LEFT JOIN billing.late_settlement l ON l.hold_id = s.hold_id
      WHERE s.hold_id = NEW.note_of AND s.account_id = NEW.account_id AND (s.reason <> 'lease-expired' OR l.hold_id IS NOT NULL)
        AND s.cost + coalesce(l.due - l.writeoff, 0) >= (SELECT sum(amount) FROM billing.movement WHERE note_of = NEW.note_of)) THEN
    RAISE EXCEPTION 'billing: credit note % is not within the cost of its request', NEW.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'movement_note_within_cost';
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER movement_note_within_cost AFTER INSERT ON billing.movement
  FOR EACH ROW WHEN (NEW.kind = 'credit-note') EXECUTE FUNCTION billing.refuse_excess_note();
