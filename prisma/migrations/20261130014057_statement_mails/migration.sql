-- Who gets the statements of an account by mail.
CREATE TABLE panel.statement_mail (
  account_id uuid NOT NULL,
  user_id    uuid NOT NULL REFERENCES panel."user" (id),
  -- The last month whose statement was sent; at first the last that had ended.
  sent_month text NOT NULL CHECK (sent_month ~ '^\d{4}-(0[1-9]|1[0-2])$'),
  -- Before it no replica sends: the one that takes a mail moves it ahead.
  due_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (account_id, user_id)
);
CREATE INDEX statement_mail_user_id ON panel.statement_mail (user_id);
CREATE CONSTRAINT TRIGGER statement_mail_change_is_audited AFTER INSERT OR DELETE ON panel.statement_mail
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();
