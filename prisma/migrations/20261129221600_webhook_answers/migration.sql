-- Names of what an event is about, as they were when it was written: the same in every delivery. In the form of the messages.
ALTER TABLE billing.money_event ADD COLUMN names jsonb NOT NULL DEFAULT '{}';

-- Since then a webhook gets nothing. Null: it is not muted.
ALTER TABLE billing.webhook ADD COLUMN muted_at timestamptz;
-- People of an account see and change only webhooks that one of them added.
ALTER TABLE billing.webhook ADD COLUMN set_by text NOT NULL DEFAULT 'operator';
ALTER TABLE billing.webhook ADD CONSTRAINT webhook_set_by_check
  CHECK (set_by = 'operator' OR set_by = 'customer' AND account_id IS NOT NULL) NOT VALID;

-- The last answer of a webhook to an event.
CREATE TABLE billing.webhook_answer (
  webhook_id   uuid NOT NULL REFERENCES billing.webhook (id) ON DELETE CASCADE,
  event_id     uuid NOT NULL REFERENCES billing.money_event (id) ON DELETE CASCADE,
  -- All attempts, those of replays included.
  attempts     integer NOT NULL CHECK (attempts > 0),
  -- `status 204`, or why there was no status.
  answer       text NOT NULL,
  accepted     boolean NOT NULL,
  milliseconds integer NOT NULL,
  at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (webhook_id, event_id)
);

CREATE INDEX webhook_answer_event_id ON billing.webhook_answer (event_id);

-- Numbers an event under the lock of its account, so that the order of the numbers is the order of the commits, and names what it is about.
-- With the rights of the owner: the service may not write the number.
CREATE OR REPLACE FUNCTION billing.number_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  account_name text;
BEGIN
  UPDATE billing.account SET event_sequence = event_sequence + 1,
    refused_at = CASE WHEN NEW.kind IN ('balance-exhausted', 'budget-exhausted') THEN NEW.created_at ELSE refused_at END
  WHERE id = NEW.account_id RETURNING event_sequence, name INTO NEW.sequence, account_name;
  NEW.id := billing.id_of(NEW.created_at);
  NEW.names := jsonb_strip_nulls(jsonb_build_object(
    'accountName', account_name,
    'projectName', (SELECT name FROM billing.project WHERE account_id = NEW.account_id AND id = (NEW.payload ->> 'projectId')::uuid),
    'keyName', (SELECT coalesce(name, '…' || last_four) FROM billing.api_key WHERE id = (NEW.payload ->> 'keyId')::uuid)));
  RETURN NEW;
END
$$;

-- Makes an event due at the webhooks of its account, in the transaction that writes it. A webhook that was muted goes on with this event.
CREATE OR REPLACE FUNCTION billing.queue_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.webhook_delivery AS d (webhook_id, account_id, done, last, due_at)
  SELECT id, NEW.account_id, NEW.sequence - 1, NEW.sequence, clock_timestamp() FROM billing.webhook
  WHERE (account_id IS NULL OR account_id = NEW.account_id) AND muted_at IS NULL ORDER BY id
  ON CONFLICT (webhook_id, account_id) DO UPDATE SET last = NEW.sequence, due_at = coalesce(d.due_at, excluded.due_at),
    done = CASE WHEN d.due_at IS NULL THEN excluded.done ELSE d.done END;
  RETURN NULL;
END
$$;
