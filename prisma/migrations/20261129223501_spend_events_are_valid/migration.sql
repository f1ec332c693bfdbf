-- online
ALTER TABLE billing.money_event VALIDATE CONSTRAINT money_event_kind_check;
