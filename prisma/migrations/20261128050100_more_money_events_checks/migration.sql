-- online: proves the constraint of the migration before, in one pass that blocks neither reads nor writes.
ALTER TABLE billing.money_event VALIDATE CONSTRAINT money_event_kind_check;
