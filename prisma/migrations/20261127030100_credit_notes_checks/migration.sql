-- online: proves the constraints of the migration before, in one pass that blocks neither reads nor writes.
DO $$
BEGIN
  ALTER TABLE billing.movement
    VALIDATE CONSTRAINT movement_kind_check,
    VALIDATE CONSTRAINT movement_adjustment_has_reason,
    VALIDATE CONSTRAINT movement_note_of_is_a_notes;
  COMMIT;
END
$$;
