-- Webhooks: URLs that get the money events of one account, or of all.

CREATE TABLE billing.webhook (
  id                    uuid PRIMARY KEY,
  -- Null: the events of all accounts.
  account_id            uuid REFERENCES billing.account (id),
  url                   text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  allow_private_network boolean NOT NULL DEFAULT false,
  -- Its secret is derived from KEY_PEPPER, `id` and this number, and is stored nowhere.
  secret_version        integer NOT NULL DEFAULT 1 CHECK (secret_version > 0),
  -- Until then messages are signed with the secret before as well.
  previous_until        timestamptz,
  created_at            timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX webhook_account_id ON billing.webhook (account_id);

-- The events of one account to one webhook: a cursor. Only the next event is under way, so that their order is kept.
CREATE TABLE billing.webhook_delivery (
  webhook_id uuid NOT NULL REFERENCES billing.webhook (id) ON DELETE CASCADE,
  account_id uuid NOT NULL,
  -- Sequence of the last event that was delivered or given up.
  done       bigint NOT NULL,
  -- Sequence of the last event.
  last       bigint NOT NULL,
  -- Failed attempts since the last success.
  attempts   integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- Time of the next attempt. Null: everything is delivered.
  due_at     timestamptz,
  -- Of the last attempt. Null: it succeeded.
  failure    text,
  PRIMARY KEY (webhook_id, account_id),
  CONSTRAINT webhook_delivery_done_in_order CHECK (done <= last),
  CONSTRAINT webhook_delivery_is_due_or_done CHECK ((due_at IS NULL) = (done = last))
) WITH (fillfactor = 50);

CREATE INDEX webhook_delivery_due ON billing.webhook_delivery (webhook_id, due_at) WHERE due_at IS NOT NULL;

-- Events that were given up.
CREATE TABLE billing.dead_letter (
  webhook_id uuid NOT NULL REFERENCES billing.webhook (id) ON DELETE CASCADE,
  event_id   uuid NOT NULL REFERENCES billing.money_event (id) ON DELETE CASCADE,
  attempts   integer NOT NULL CHECK (attempts > 0),
  failure    text NOT NULL,
  at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (webhook_id, event_id)
);

CREATE INDEX dead_letter_event_id ON billing.dead_letter (event_id);

-- Makes an event due at the webhooks of its account, in the transaction that writes it.
CREATE FUNCTION billing.queue_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.webhook_delivery AS d (webhook_id, account_id, done, last, due_at)
  SELECT id, NEW.account_id, NEW.sequence - 1, NEW.sequence, clock_timestamp() FROM billing.webhook
  WHERE account_id IS NULL OR account_id = NEW.account_id ORDER BY id
  ON CONFLICT (webhook_id, account_id) DO UPDATE SET last = NEW.sequence, due_at = coalesce(d.due_at, excluded.due_at);
  RETURN NULL;
END
$$;

CREATE TRIGGER money_event_is_queued AFTER INSERT ON billing.money_event FOR EACH ROW EXECUTE FUNCTION billing.queue_event();

CREATE CONSTRAINT TRIGGER webhook_is_audited AFTER INSERT OR DELETE OR UPDATE ON billing.webhook DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION billing.demand_audit('webhook');
