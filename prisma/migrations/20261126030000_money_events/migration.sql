-- Money events: an outbox. Each event is a row that is written in the transaction of the change that it tells of.
--
-- Triggers write what the change of one row tells: a low balance, the end of a plan, a frozen account. Whoever changes the row, the event is
-- there. A batch writes what only it knows: thresholds of budgets, and refusals. Replicas of the version before publish low balances and
-- ends of plans themselves too, until they are replaced.
--
-- NOT VALID: every existing row has the defaults, and a scan would hold up every request meanwhile.

CREATE TABLE billing.money_event (
  -- UUID v7 of `created_at`, the same in every delivery.
  id           uuid PRIMARY KEY,
  account_id   uuid NOT NULL REFERENCES billing.account (id),
  -- 1, 2, 3, … of the account, in the order of the commits.
  sequence     bigint NOT NULL CHECK (sequence > 0),
  kind         text NOT NULL CHECK (kind IN ('balance-low', 'balance-exhausted', 'budget-threshold', 'budget-exhausted', 'plan-expired',
    'key-expiring', 'account-frozen')),
  payload      jsonb NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Null: not on NATS yet.
  published_at timestamptz,
  CONSTRAINT money_event_once_in_sequence UNIQUE (account_id, sequence)
);

CREATE INDEX money_event_unpublished ON billing.money_event (account_id, sequence) WHERE published_at IS NULL;
CREATE INDEX money_event_created_at ON billing.money_event (created_at);
-- A key is announced once for each end that it is given.
CREATE UNIQUE INDEX money_event_key_expiring ON billing.money_event ((payload ->> 'keyId'), (payload ->> 'expiresAt'))
  WHERE kind = 'key-expiring';

ALTER TABLE billing.account
  ADD COLUMN event_sequence bigint NOT NULL DEFAULT 0,
  -- Time of the last event of a refusal: there is at most one a minute.
  ADD COLUMN refused_at timestamptz,
  ADD CONSTRAINT account_event_sequence_not_negative CHECK (event_sequence >= 0) NOT VALID;

-- Percentages of the limit, ascending, and the highest of which the current window has had its event.
ALTER TABLE billing.budget
  ADD COLUMN thresholds smallint[] NOT NULL DEFAULT '{50,80,100}',
  ADD COLUMN passed smallint NOT NULL DEFAULT 0,
  ADD CONSTRAINT budget_thresholds_are_percentages
    CHECK (cardinality(thresholds) <= 10 AND 1 <= ALL (thresholds) AND 100 >= ALL (thresholds)) NOT VALID,
  ADD CONSTRAINT budget_passed_is_percentage CHECK (passed BETWEEN 0 AND 100) NOT VALID;

-- Numbers an event under the lock of its account, so that the order of the numbers is the order of the commits. With the rights of the owner:
-- the service may not write the number.
CREATE FUNCTION billing.number_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE billing.account SET event_sequence = event_sequence + 1,
    refused_at = CASE WHEN NEW.kind IN ('balance-exhausted', 'budget-exhausted') THEN NEW.created_at ELSE refused_at END
  WHERE id = NEW.account_id RETURNING event_sequence INTO NEW.sequence;
  -- A random UUID whose first 48 bits are the milliseconds, and whose version is 7 instead of 4.
  NEW.id := encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    PLACING substring(int8send(floor(extract(epoch FROM NEW.created_at) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid;
  RETURN NEW;
END
$$;

CREATE TRIGGER money_event_is_numbered BEFORE INSERT ON billing.money_event
  FOR EACH ROW WHEN (NEW.sequence IS NULL) EXECUTE FUNCTION billing.number_event();

CREATE FUNCTION billing.tell_of_account() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.money_event (account_id, kind, payload) VALUES (NEW.id, TG_ARGV[0], CASE TG_ARGV[0]
    WHEN 'balance-low'
      THEN jsonb_build_object('balancePicoUsd', (NEW.topup + NEW.plan)::text, 'lowBalancePicoUsd', NEW.low_balance::text)
    ELSE jsonb_build_object('reason', NEW.status_reason) END);
  RETURN NULL;
END
$$;

-- The balance crosses its threshold downwards, or gets one that is above it.
CREATE TRIGGER account_balance_is_low AFTER UPDATE OF topup, plan, low_balance ON billing.account FOR EACH ROW
  WHEN (NEW.low_balance IS NOT NULL AND NEW.topup + NEW.plan < NEW.low_balance
    AND (OLD.topup + OLD.plan >= NEW.low_balance OR OLD.low_balance IS DISTINCT FROM NEW.low_balance))
  EXECUTE FUNCTION billing.tell_of_account('balance-low');
CREATE TRIGGER account_is_frozen AFTER UPDATE OF status ON billing.account FOR EACH ROW
  WHEN (NEW.status = 'frozen' AND OLD.status <> 'frozen') EXECUTE FUNCTION billing.tell_of_account('account-frozen');

CREATE FUNCTION billing.tell_of_plan() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO billing.money_event (account_id, kind, payload)
  VALUES (NEW.account_id, 'plan-expired', jsonb_build_object('grantId', NEW.grant_id, 'forfeitedPicoUsd', NEW.amount::text));
  RETURN NULL;
END
$$;

CREATE TRIGGER movement_ends_plan AFTER INSERT ON billing.movement
  FOR EACH ROW WHEN (NEW.kind = 'forfeit') EXECUTE FUNCTION billing.tell_of_plan();

-- As for the other settings of a budget.
CREATE TRIGGER budget_thresholds_write_account AFTER UPDATE OF thresholds ON billing.budget
  FOR EACH ROW EXECUTE FUNCTION billing.count_budget();
CREATE CONSTRAINT TRIGGER budget_thresholds_are_audited AFTER UPDATE OF thresholds ON billing.budget DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.thresholds IS DISTINCT FROM NEW.thresholds) EXECUTE FUNCTION billing.demand_audit('budget');
